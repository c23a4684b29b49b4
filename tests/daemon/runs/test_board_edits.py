"""Tasks that people edit, remove or mark while somebody works on them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.daemon.runs.run_ground import RunGround
from tests.daemon.runs.test_runs import PASSED
from tests.support.workshop import git

FIRST = (
    "- [ ] **[API-1]** Add more\n  - Description: Write more.py\n  - Priority: HIGH\n"
    "  - Dependencies: none\n"
)
SECOND = "- [ ] **[API-2]** Add most\n  - Priority: LOW\n  - Dependencies: none\n"


@pytest.fixture
def at_work(board: RunGround) -> RunGround:
    """The first of two tasks is worked on."""
    board.board_file.write_text(f"## TASKS\n\n{FIRST}{SECOND}")
    board.run(tasks=["API-1"])
    return board


def edit(board: RunGround, old: str, new: str) -> None:
    """A person changes a few words."""
    text = board.board_file.read_text()
    assert old in text
    board.board_file.write_text(text.replace(old, new))


def told(board: RunGround, kind: str) -> list[dict[str, Any]]:
    """What who follows the run was told."""
    events = board.workshop.ask("runs", after=0)["events"]
    return [event for event in events if event["kind"] == kind]


def test_a_task_that_is_removed_is_stopped_and_its_work_is_in_the_trash(at_work: RunGround) -> None:
    """Nothing is written onto the board, and nobody is told that it could not be marked."""
    agent = at_work.agent("api-1")
    (at_work.workspace("api-1") / "more.py").write_text("more = 1\n")
    at_work.board_file.write_text(f"## TASKS\n\n{SECOND}")
    for _ in range(2):
        at_work.later(31)
        assert at_work.lives(agent)
    at_work.later(31)
    task = at_work.task("API-1")
    assert task["state"] == "dropped"
    assert "not on the board any more" in task["why"]
    assert not at_work.lives(agent)
    assert not at_work.workshop.session(agent).alive
    kept = git(at_work.root, "for-each-ref", "refs/windlass/trash/api-1", "--format=%(refname)")
    assert kept.strip()
    assert at_work.board_file.read_text() == f"## TASKS\n\n{SECOND}"
    assert not told(at_work, "task.unmarked")


def test_a_task_that_is_removed_while_the_board_is_paused_is_stopped(at_work: RunGround) -> None:
    """No other one is begun meanwhile, and none has waited for that."""
    at_work.workshop.ask("run.pause", paused=True)
    at_work.board_file.write_text(f"## TASKS\n\n{SECOND}")
    for _ in range(4):
        at_work.later(31)
    assert at_work.task("API-1")["state"] == "dropped"
    assert at_work.markers() == {"API-2": " "}
    assert not told(at_work, "board.held")


class Killed(BaseException):
    """The daemon ends here."""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", ["withdraw", "end"])
def test_a_daemon_that_dies_while_it_gives_a_task_up_is_followed_by_one_that_goes_on(
    at_work: RunGround, step: str, when: str
) -> None:
    """The change is out of the queue, the agent has ended and the run too, each once."""
    agent = at_work.agent("api-1")
    at_work.commit(agent, {"AGENTS.md": "steers others\n"})
    at_work.speak("api-1", PASSED)
    at_work.board_file.write_text(f"## TASKS\n\n{SECOND}")
    at_work.workshop.ask("task.drop", task="API-1")
    failpoints = at_work.workshop.context.failpoints
    left = [f"run.finish.{step}.{when}"]

    def reached(name: str) -> None:
        if name in left:
            left.remove(name)
            raise Killed(name)

    failpoints.reached = reached  # type: ignore[method-assign]
    with pytest.raises(Killed):
        at_work.settle()
    at_work.drive()
    at_work.settle()
    assert at_work.task("API-1")["state"] == "dropped"
    assert at_work.change("c1")["state"] == "dropped"
    assert not at_work.lives(agent)
    assert len(told(at_work, "run.ended")) == 1


def test_a_task_that_is_away_for_a_moment_goes_on(at_work: RunGround) -> None:
    """An editor, or git, takes the file away and brings it back."""
    text = at_work.board_file.read_text()
    at_work.board_file.write_text(f"## TASKS\n\n{SECOND}")
    at_work.later(31)
    at_work.board_file.write_text(text)
    at_work.later(31)
    at_work.board_file.write_text(f"## TASKS\n\n{SECOND}")
    at_work.later(31)
    at_work.board_file.unlink()
    at_work.later(31)
    assert at_work.task("API-1")["state"] == "works"


def test_a_task_that_is_edited_goes_on_as_it_was_and_the_edit_is_told_once(
    at_work: RunGround,
) -> None:
    """Another edit is told as well."""
    edit(at_work, "Write more.py", "Write less.py")
    for _ in range(2):
        at_work.later(31)
    (event,) = told(at_work, "task.edited")
    assert (event["task"], event["fields"]) == ("API-1", ["description"])
    shown = at_work.workshop.ask("task", task="API-1")
    assert shown["edited"] == ["description"]
    assert "Write more.py" in shown["document"]
    edit(at_work, "Add more", "Add less")
    at_work.later(31)
    assert told(at_work, "task.edited")[1]["fields"] == ["title", "description"]
    at_work.commit(at_work.agent("api-1"), {"more.py": "more = 1\n"})
    at_work.speak("api-1", PASSED)
    assert at_work.markers()["API-1"] == "x"
    assert "Add more" in git(at_work.root, "log", "-1", "--format=%s", "main")
    assert at_work.workshop.ask("task", task="API-1")["edited"] == []


def test_a_task_that_somebody_marks_as_not_planned_is_stopped(at_work: RunGround) -> None:
    """As with `wl drop`: its agent stays, and so does the mark."""
    agent = at_work.agent("api-1")
    edit(at_work, "[=] **[API-1]", "[N] **[API-1]")
    at_work.later(31)
    assert at_work.task("API-1")["state"] == "dropped"
    assert at_work.markers()["API-1"] == "N"
    assert at_work.lives(agent)
    assert not at_work.workshop.session(agent).alive
