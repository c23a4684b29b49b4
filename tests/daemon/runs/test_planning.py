"""`wl run --plan`: who has no plan yet makes one before the work, and it is kept."""

from __future__ import annotations

from functools import partial

from tests.daemon.runs.run_ground import RunGround
from tests.daemon.runs.test_runs import PASSED

from windlass.store import rows

PLAN = "<report>First more.py, then its test.</report>\n<result>PASS</result>"


def test_a_task_is_planned_first_and_its_plan_is_kept_where_people_keep_theirs(
    board: RunGround,
) -> None:
    """Who plans only looks; who does the work is told the plan, and so is every later run."""
    board.run(plans=True, tasks=["API-1"])
    assert board.agent("api-1").role == "plan-mode"
    board.speak("api-1", PLAN)
    kept = board.root / ".windlass" / "plans" / "API-1.md"
    assert kept.read_text() == "First more.py, then its test.\n"
    assert board.agent("api-1").role != "plan-mode"
    assert "First more.py" in board.workshop.session(board.agent("api-1")).received.decode()
    board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
    board.speak("api-1", PASSED)
    task = board.task("API-1")
    assert task["state"] == "landed"
    assert [visit["step"] for visit in task["visits"]] == ["planning", "execution"]


def test_a_task_that_has_a_plan_is_not_planned_again(board: RunGround) -> None:
    plans = board.root / ".windlass" / "plans"
    plans.mkdir()
    (plans / "API-1.md").write_text("My own plan.\n")
    board.run(plans=True, tasks=["API-1"])
    assert board.agent("api-1").role != "plan-mode"
    assert "My own plan." in board.workshop.session(board.agent("api-1")).received.decode()


def test_the_role_that_a_task_names_does_the_work_and_not_the_planning(board: RunGround) -> None:
    named = "  - Priority: HIGH\n  - Agent: worker\n"
    text = board.board_file.read_text().replace("  - Priority: HIGH\n", named)
    board.board_file.write_text(text)
    board.run(plans=True, tasks=["API-1"])
    assert board.agent("api-1").role == "plan-mode"
    board.speak("api-1", PLAN)
    assert board.agent("api-1").role == "worker"


def test_a_plan_that_cannot_be_kept_holds_nobody_up(board: RunGround) -> None:
    """The person is told, and the work goes on with the plan as its report."""
    board.run(plans=True, tasks=["API-1"])
    (board.root / ".windlass" / "plans").write_text("no folder\n")
    board.speak("api-1", PLAN)
    assert board.task("API-1")["step"] == "execution"
    find = partial(rows.events, kind="notice.posted")
    told = [event.data["text"] for event in board.workshop.context.store.read(find)]
    assert any("the plan of API-1 could not be kept" in text for text in told)
