"""What runs cost: by task, by step, and as the run is shown."""

from __future__ import annotations

from tests.daemon.runs.run_ground import RunGround
from tests.daemon.runs.test_runs import PASSED


def test_costs_are_told_by_task_step_role_mode_and_credential(board: RunGround) -> None:
    """Each visit is a session of its own, with the role that it had then."""
    audit = {"id": "audit", "agent": "security-audit", "readonly": True}
    audit["on_result"] = {"FIX": {"jump": "execution"}}
    board.pipeline([{"id": "execution", "agent": "worker"}, audit])
    board.run()
    board.spend("api-1", 1.0)
    board.commit(board.agent("api-1"), {"more.py": "more = 1\n"})
    board.speak("api-1", PASSED)
    board.spend("api-1", 0.25, owed=False)
    board.speak("api-1", "<result>FIX</result>")
    board.spend("api-1", 0.5)
    by = {
        kind: {
            row["name"]: (row["usd"], row["notional_usd"])
            for row in board.workshop.ask("costs", by=kind)["rows"]
        }
        for kind in ("task", "step", "role", "mode", "credential")
    }
    assert by["task"] == {"API-1": (1.5, 0.25)}
    assert by["step"] == {"execution": (1.5, 0.0), "audit": (0.0, 0.25)}
    assert by["role"] == {"worker": (1.5, 0.0), "security-audit": (0.0, 0.25)}
    assert by["mode"] == {"headless": (1.5, 0.25)}
    assert by["credential"] == {"none": (1.5, 0.25)}
    task = board.task("API-1")
    assert (task["usd"], task["notional_usd"]) == (1.5, 0.25)
    assert [(visit["step"], visit["usd"], visit["iterations"]) for visit in task["visits"]] == [
        ("execution", 1.0, 1),
        ("audit", 0.0, 1),
    ]
