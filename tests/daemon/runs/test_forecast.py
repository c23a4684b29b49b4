"""What work on a board takes is told before it begins: tasks, sessions at least, and who pays."""

from __future__ import annotations

from typing import Any

from tests.daemon.runs.run_ground import RunGround

STEPS: list[dict[str, Any]] = [
    {"id": "execution", "agent": "worker"},
    {"id": "audit", "agent": "worker", "on_result": {"FIX": {"id": "mend", "agent": "worker"}}},
    {"id": "docs", "agent": "worker", "enabled_by": "WITH_DOCS"},
]


def test_each_task_that_waits_takes_a_session_for_each_step_that_runs(board: RunGround) -> None:
    """Looking begins nothing; what begins says the same."""
    board.pipeline(STEPS)
    known = {"target": "main", "pays": "none"}
    asked = {"driver": "standin"}
    ask = board.workshop.ask
    assert ask("run.preview", **asked) == {**known, "tasks": 2, "sessions": 4}
    assert ask("run.preview", **asked, enabled=["WITH_DOCS"])["sessions"] == 6
    assert ask("run.preview", **asked, tasks=["api-1"])["sessions"] == 2
    assert board.open_jobs("schedule") == 0
    begun = board.run()
    assert {name: begun[name] for name in known} == known
    assert (begun["tasks"], begun["sessions"]) == (2, 4)
    assert ask("run.preview", **asked)["tasks"] == 1


def test_who_has_no_plan_yet_takes_a_session_for_it(board: RunGround) -> None:
    board.pipeline(STEPS[:1])
    plans = board.root / ".windlass" / "plans"
    plans.mkdir()
    (plans / "API-1.md").write_text("My own plan.\n")
    assert board.workshop.ask("run.preview", driver="standin", plans=True)["sessions"] == 3
