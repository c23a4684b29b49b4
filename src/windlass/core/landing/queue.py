"""What a queue knows: which revisions wait, what was tried on which tip, what is under way.

Pure, and kept as data between two pieces of news; what follows from these is in `job`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from windlass.core.landing.plan import Group, Outcome


class Waiting(msgspec.Struct, frozen=True):
    """One revision in the queue."""

    change: str
    head: str
    needs: Group = ()
    """Changes that have to land before, and have not."""
    alone: bool = False
    """Whether it is tried with no other."""
    restless: bool = False
    """Whether it was revised while it was tried: others do not wait for it any more."""
    moved: int = 0
    """How often the target moved while this was in the gate, so that it is proven anew."""


class Try(msgspec.Struct, frozen=True, kw_only=True):
    """A group on the present tip: its tree, the run that proves it, and what came of that."""

    group: Group
    tree: str
    job: str = ""
    outcome: Outcome | None = None
    marks: tuple[str, ...] = ()
    """What the tree does to its own tests, and what of protected paths nobody knew of."""
    edits: tuple[str, ...] = ()
    """These paths."""
    by_old_gate: bool = False
    """Whether the gate as it was judges it: if that finds it green, so does its own have to."""
    gate: str = ""
    """The gate that judges it, in short: what another one finds says nothing of it."""
    stale: bool = False
    """Whether one of the group has another revision by now, so that the outcome says nothing."""


class LandingState(msgspec.Struct, frozen=True, kw_only=True):
    """Where the queue of one branch stands."""

    target: str
    tip: str = ""
    """The target's tip that tries are on."""
    queue: tuple[Waiting, ...] = ()
    tries: tuple[Try, ...] = ()
    sequence: int = 0
    """How many effects it has begun."""
    busy: str = ""
    """The effect that is under way."""
    number: int = 0
    """Which of them that is; 0 where an older release has begun it."""
    deferred: Group = ()
    """Changes that conflict with others that wait before them, and so wait for these."""
    revised: Group = ()
    """Changes that have another revision than the try that is just being made."""
    unwanted: Group = ()
    """Runs that say nothing that is needed, and are ended."""
    ended: dict[str, Outcome | None] = {}
    """Runs that ended while a try was under way: it may be what began them.

    None is one that somebody has cancelled.
    """
    pushed: dict[str, Any] | None = None
    """A push of which nobody knows whether the remote took it: before all else it is settled."""
    red: str = ""
    """The tip on which landing halts: not green by itself, or nobody can say whether it is."""
    look: int = 0
    """The effect that looks whether the target is green by now; what began earlier says nothing."""
    misses: int = 0
    """How often in a row the remote could not be reached, or nobody told of a stop."""
    begun: tuple[str, ...] = ()
    """What was begun since there was news from outside: see `pauses`."""
    pauses: int = 0
    """How often in a row it rested since something has entered or left it."""
    now: float = 0.0
    """When the news came that it goes by."""
    wake_at: float | None = None
    """When it is asked again, or a checkout is looked at again."""

    @property
    def ready(self) -> Group:
        """The changes that can be tried, in their order; each comes after what it needs.

        Who is revised again and again while it is tried would have all others tried anew each time:
        it is tried by itself, when nobody else can be, and once no run of before takes a place.
        """
        waiting = [waiting for waiting in self.queue if waiting.change not in self.deferred]
        names = _in_order([w for w in waiting if not w.restless])
        if names or any(tried.stale and tried.outcome is None for tried in self.tries):
            return names
        return _in_order([w for w in waiting if w.restless])[:1]


def _in_order(waiting: Sequence[Waiting]) -> Group:
    """Each after what it needs, up to one that has to be alone."""
    left, names = list(waiting), list[str]()
    while ready := [w for w in left if set(w.needs) <= set(names)]:
        first = ready[0]
        if first.alone and names:
            break
        names.append(first.change)
        left.remove(first)
        if first.alone:
            break
    return tuple(names)


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a change that leaves the queue without having landed."""

    change: str
    head: str
    state: Literal["rejected", "conflict", "held", "nothing-to-land"]
    why: str = ""
    paths: tuple[str, ...] = ()
    tried: Try | None = None
