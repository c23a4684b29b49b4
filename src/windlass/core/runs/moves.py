"""The moves that a run makes from any stage: to rest, to do what the stage is about, to end."""

from __future__ import annotations

from typing import Any

import msgspec

from windlass.core.jobs import Decision, Effect
from windlass.core.runs import orders
from windlass.core.runs.loop import Loop
from windlass.core.runs.run_state import Ending, RunState, Stage

MOST_FAILURES = 6
"""Tries of one effect, and sessions of a visit that ended by themselves, before it is given up."""
_OPEN = frozenset[Stage]({"beginning", "working", "looking", "asking", "iterating", "closing"})
"""Stages in which a session may run."""


def begun(state: RunState) -> dict[str, Any]:
    """The state of a run as it is kept."""
    kept: dict[str, Any] = msgspec.to_builtins(state)
    return kept


def changed(state: RunState, **changes: Any) -> RunState:
    """The state with some of it changed."""
    return msgspec.structs.replace(state, **changes)


def rest(state: RunState) -> Decision:
    """Waits for what happens next."""
    return Decision(begun(state), wake_at=state.wake_at)


def do(state: RunState) -> Decision:
    """Does what the stage is about; it goes on when that is over."""
    state = changed(state, at_work=True, wake_at=None)
    effect = Effect(orders.EFFECTS[state.stage], orders.order(state))
    return Decision(begun(state), (effect,))


def go_on(state: RunState) -> Decision:
    """Does the next thing, unless somebody has ended the run meanwhile."""
    return finish(state, state.ending) if state.ending is not None else do(state)


def finish(state: RunState, ending: Ending) -> Decision:
    """Ends the run: what runs for it is closed before, and then it is told."""
    is_open = not state.gone and state.stage in _OPEN and state.session > 0
    if state.beside and state.beside not in ending.why:
        why = "; ".join(said for said in (ending.why, state.beside) if said)
        ending = msgspec.structs.replace(ending, why=why)
    state = changed(state, ending=ending, failures=0)
    return do(changed(state, stage="closing" if is_open else "finishing"))


def fresh_visit(state: RunState, at: float) -> RunState:
    """The state at the beginning of a visit."""
    return changed(
        fresh_session(state),
        result="",
        loop=Loop(),
        until=0.0,
        sessions=0,
        rested=False,
        began_at=at,
    )


def fresh_session(state: RunState) -> RunState:
    """The state before a session of a visit that begins a conversation."""
    return changed(
        state,
        said="",
        asked=False,
        anew=True,
        deaths=0,
        wake_at=None,
        heard=None,
        model_failures=0,
        outage="",
        held="",
        failures=0,
    )
