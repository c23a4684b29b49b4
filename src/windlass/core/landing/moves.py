"""How a change moves between its states: by the lifecycle in data, told an event.

Pure. A row keeps the state that people are shown, and goes on from one state of the lifecycle that
is shown so: the first in the file that something leads out of, neither passed through nor an end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal, get_args

import msgspec

from windlass.core.errors import ConfigError, Internal
from windlass.core.landing.changes import Change, State
from windlass.core.lifecycle import machine
from windlass.core.lifecycle.machine import Call, Lifecycle

Event = Literal[
    "change.submitted",
    "change.approved",
    "change.retried",
    "change.released",
    "change.waits",
    "change.blocked",
    "change.dropped",
    "change.undone",
    "merge.start",
    "merge.succeeded",
    "merge.pr_merged",
    "merge.conflict",
    "merge.hard_fail",
    "merge.held",
    "merge.nothing",
    "merge.requested",
    "author.ended",
    "author.restored",
    "startup.reset",
]
"""What landing tells the lifecycle. The other events in data are of what has no change yet."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What guards and effects go by, beyond the change itself."""

    in_its_way: str = ""
    """Why it may not be tried yet."""
    most: int = 1
    """How often its author hears of it before a person does."""


class Move(msgspec.Struct, frozen=True):
    """Where an event leads a change, and what follows from it."""

    state: State
    effects: tuple[Call, ...]


Guard = Callable[[Change, Facts], bool]


def _attempts_left(_change: Change, _facts: Facts) -> bool:
    """Landing gives no change up: `landing.max_attempts` says who mends it, not where it is."""
    return True


def _conflicts_with_waiting(_change: Change, _facts: Facts) -> bool:
    """What conflicts with a change that waits before it is put off by the queue until that landed.

    So a conflict that stops a change is always with the target alone.
    """
    return False


def _may_be_tried(_change: Change, facts: Facts) -> bool:
    return not facts.in_its_way


def _is_orphaned(change: Change, _facts: Facts) -> bool:
    return change.orphaned


GUARDS: Mapping[str, Guard] = {
    "attempts_left": _attempts_left,
    "conflicts_with_waiting": _conflicts_with_waiting,
    "may_be_tried": _may_be_tried,
    "is_orphaned": _is_orphaned,
}


class ChangeLife:
    """A lifecycle of changes, of which every guard, effect and state is known."""

    def __init__(self, lifecycle: Lifecycle, effects: Collection[str]) -> None:
        """Refuses guards and effects that nobody has, and states that no row could keep."""
        _require_known("guard", lifecycle.guards, GUARDS)
        _require_known("effect", lifecycle.effects, effects)
        self._lifecycle = lifecycle
        self._resting: dict[str, str] = {}
        for name, state in lifecycle.states.items():
            if state.type not in (machine.TRANSIENT, machine.TERMINAL):
                self._resting.setdefault(state.public, name)
        public = {*get_args(State)}
        if odd := public ^ self._resting.keys():
            raise ConfigError(
                f"the lifecycle of changes and the states that they are shown in differ in"
                f" {', '.join(sorted(map(repr, odd)))}",
                f"let `public` be one of {', '.join(sorted(public))}, and each of them be reached",
            )

    @property
    def running(self) -> frozenset[State]:
        """The states whose work a restart may have ended."""
        states = self._lifecycle.states
        names = (name for name in self._resting.values() if states[name].type == machine.RUNNING)
        return frozenset(self._public(name) for name in names)

    def hears(self, change: Change, event: Event, facts: Facts) -> bool:
        """Whether an event means anything for a change where it is."""
        return self._step(change, event, facts) is not None

    def move(self, change: Change, event: Event, facts: Facts) -> Move:
        """Where an event leads a change; refuses one that the lifecycle does not know there."""
        step = self._step(change, event, facts)
        if step is None:
            raise Internal(
                f"{change.id} is {change.state}, and no change goes on from there by {event}",
                "`wl dev lifecycle show` lists what does; please report this",
            )
        effects = tuple(self._lifecycle.effects[name] for name in step.effects)
        return Move(self._public(step.to), effects)

    def _step(self, change: Change, event: Event, facts: Facts) -> machine.Step | None:
        guards = self._lifecycle.guards
        return machine.step(
            self._lifecycle,
            self._resting[change.state],
            event,
            lambda name: GUARDS[guards[name].fn](change, facts),
        )

    def _public(self, name: str) -> State:
        found: Any = self._lifecycle.states[name].public
        return found  # type: ignore[no-any-return]


def _require_known(what: str, calls: Mapping[str, Call], known: Collection[str]) -> None:
    for name, call in calls.items():
        if call.fn not in known:
            raise ConfigError(
                f"the lifecycle of changes has the {what} {name}, of the function {call.fn!r},"
                " which there is not",
                f"there are {', '.join(sorted(known))}",
            )
