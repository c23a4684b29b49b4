"""A run that has to wait before its agent may begin or go on: for money, or for its model. Pure.

An effect that may not be done yet says until when; it is done again then, and nothing counts.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from windlass.core.runs.run_state import RunState


def told(state: RunState, result: dict[str, Any]) -> RunState | None:
    """The state that waits for a moment, where an effect has to; None where it was done."""
    if "until" not in result:
        return None
    held, until = str(result["why"]), float(result["until"])
    return replace(state, held=held, noted=True, turn=float(result["turn"]), wake_at=until)


def over(state: RunState, at: float) -> RunState:
    """The state once the effect was done; a visit that had begun has all of its time again."""
    if not state.held:
        return state
    until = at + state.role.timeout if state.until else 0.0
    return replace(state, held="", noted=False, turn=0.0, outage="", until=until)


def outage(state: RunState, said: str) -> RunState:
    """The state of a run whose model did not answer: it asks when it is to try, or go on."""
    failures = max(1, state.model_failures)
    return replace(
        state, stage="asking", outage=said, held=said, noted=False, model_failures=failures
    )


def order(state: RunState) -> dict[str, Any]:
    """What an effect has to know that may have to wait; a failure is noted once."""
    failed = "" if state.noted else state.outage
    return {"turn": state.turn, "outage": bool(state.outage), "failed": failed}
