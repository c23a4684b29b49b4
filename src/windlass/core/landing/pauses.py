"""Pauses of a queue: it never begins the same twice without one, and each is longer than the last.

Pure. Whatever an effect comes back with, a queue cannot go round in circles: what it begins is
remembered until there is news from outside, and the same once more has to wait for its moment.
"""

from __future__ import annotations

import hashlib
import json

import msgspec

from windlass.core import jobs
from windlass.core.landing.queue import LandingState

_FIRST, _MOST = 2.0, 60.0
"""Seconds until it is looked again: the first time, and at most."""
_REMEMBERED = 64
"""Effects that are remembered: no circle is longer."""
_SHORT = 12


def at(state: LandingState, now: float) -> LandingState:
    """The state as of a moment; where the clock was set back, what it waits for comes earlier."""
    back = max(0.0, state.now - now)
    wake_at = None if state.wake_at is None else state.wake_at - back
    return msgspec.structs.replace(state, now=now, wake_at=wake_at)


def is_again(state: LandingState, what: str) -> bool:
    """Whether the same was begun before, and nothing has come from outside since."""
    return _mark(state, what) in state.begun


def with_begun(state: LandingState, what: str) -> LandingState:
    """Remembers that an effect is begun just as things stand."""
    begun = (*state.begun, _mark(state, what))[-_REMEMBERED:]
    return msgspec.structs.replace(state, begun=begun)


def from_outside(state: LandingState) -> LandingState:
    """Forgets what was begun: a run has ended, somebody proposes, or the moment has come."""
    return msgspec.structs.replace(state, begun=())


def resting(state: LandingState) -> LandingState:
    """The state of a queue that waits for its moment; one that it waits for already stays."""
    if state.wake_at is not None:
        return state
    wake_at = state.now + jobs.backoff(state.pauses, first=_FIRST, most=_MOST)
    return msgspec.structs.replace(state, wake_at=wake_at, pauses=state.pauses + 1)


def _mark(state: LandingState, what: str) -> str:
    """What an effect is begun with, in short; which runs have told it makes no difference."""
    tries = [(t.group, t.tree, t.outcome, t.stale, t.marks) for t in state.tries]
    queue = [(w.change, w.head, w.needs, w.restless) for w in state.queue]
    known = [what, state.tip, state.deferred, state.pushed, tries, queue]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:_SHORT]
