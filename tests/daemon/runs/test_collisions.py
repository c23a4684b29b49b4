"""Tasks that are put off because of others, and the whole board because of money."""

from __future__ import annotations

import pytest
from tests.daemon.runs.run_ground import RunGround
from tests.daemon.runs.test_runs import PASSED

from windlass.core.runs import collisions

BOARD = """## TASKS

- [ ] **[AA-1]** First
  - Priority: HIGH
  - Dependencies: none
  - Scope:
    - `src/api.py`
- [ ] **[AA-2]** Second
  - Priority: MEDIUM
  - Dependencies: none
  - Scope:
    - `src/`
- [ ] **[AA-3]** Third
  - Priority: LOW
  - Dependencies: none
"""


@pytest.fixture
def crowd(board: RunGround) -> RunGround:
    """Three tasks, of which two are about the same."""
    board.board_file.write_text(BOARD)
    return board


def test_a_task_whose_scope_is_at_work_already_waits_and_says_why(crowd: RunGround) -> None:
    """Another takes its place; it begins when the first is over."""
    crowd.run(workers=2)
    assert crowd.markers() == {"AA-1": "=", "AA-2": " ", "AA-3": "="}
    assert crowd.workshop.ask("runs")["postponed"] == {"AA-2": "AA-1 works on src"}
    assert crowd.workshop.ask("task", task="aa-2")["waits"] == "AA-1 works on src"
    told = crowd.workshop.ask("runs", after=0)["events"]
    assert [event["task"] for event in told if event["kind"] == "task.postponed"] == ["AA-2"]
    crowd.speak("aa-1", "<result>FAIL</result>")
    assert crowd.markers()["AA-2"] == "="


def test_nobody_is_put_off_for_ever(crowd: RunGround) -> None:
    """After an hour it begins beside the other one: a scope is what somebody expected."""
    crowd.run(workers=3)
    assert crowd.markers()["AA-2"] == " "
    crowd.later(collisions.MOST_POSTPONED / 2)
    assert crowd.markers()["AA-2"] == " "
    crowd.later(collisions.MOST_POSTPONED / 2)
    assert crowd.markers()["AA-2"] == "="


def test_a_second_try_waits_where_the_first_ones_branch_conflicts(board: RunGround) -> None:
    """Nothing is said of its scope; its last branch is looked at as it came home."""
    board.board_file.write_text(BOARD.replace("`src/`", "`docs/`"))
    board.run(workers=1)
    board.commit(board.agent("aa-1"), {"same.py": "one = 1\n"})
    board.speak("aa-1", "<result>FAIL</result>")
    board.commit(board.agent("aa-2"), {"same.py": "two = 2\n"})
    board.workshop.ask("task.retry", task="AA-1")
    board.run(workers=3)
    assert board.markers() == {"AA-1": " ", "AA-2": "=", "AA-3": "="}
    waits = board.workshop.ask("task", task="AA-1")["waits"]
    assert waits == "its last try conflicts with AA-2 in same.py"


def test_a_change_that_came_back_is_mended_once_who_conflicts_with_it_is_over(
    board: RunGround,
) -> None:
    """It would be mended twice otherwise. The run says what it waits for."""
    board.board_file.write_text(BOARD.replace("`src/`", "`docs/`"))
    board.run(workers=2)
    board.commit(board.agent("aa-2"), {"same.py": "two = 2\n"})
    red = "def add(a, b):\n    return a - b\n"
    board.commit(board.agent("aa-1"), {"same.py": "one = 1\n", "calc.py": red})
    board.speak("aa-1", PASSED)
    task = board.task("AA-1")
    assert task["attempts"] == 1
    assert (task["state"], task["why"]) == ("waits", "conflicts with AA-2 in same.py")
    board.speak("aa-2", "<result>FAIL</result>")
    board.later(31)
    assert board.task("AA-1")["state"] == "works"


def test_while_a_budget_is_spent_no_task_is_begun_and_none_fails(board: RunGround) -> None:
    """What is at work goes on as agents do; the next begins when there is money again."""
    home = board.workshop.context.folders.home
    own = (home / "config.toml").read_text()
    board.run()
    board.spend("api-1", 3.0)
    board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
    (home / "config.toml").write_text(own + "[budget]\nrepo = 2\n")
    board.speak("api-1", "<result>PASS</result>")
    assert board.markers() == {"API-1": "x", "API-2": " "}
    assert "budget.repo" in board.workshop.ask("runs")["held"]
    (home / "config.toml").write_text(own)
    board.later(31)
    assert board.markers() == {"API-1": "x", "API-2": "="}
    assert board.workshop.ask("runs")["held"] == ""
