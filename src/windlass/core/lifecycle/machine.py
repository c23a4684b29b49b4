"""The engine: what an event does in a state, by transitions that are tried in their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import msgspec

from windlass.core.errors import UserError

ANY = "*"
"""Where a transition counts in every state."""
INITIAL, WAITING, RUNNING = "initial", "waiting", "running"
TRANSIENT, TERMINAL, RECOVERABLE = "transient", "terminal", "terminal_recoverable"
TYPES = (INITIAL, WAITING, RUNNING, TRANSIENT, TERMINAL, RECOVERABLE)
RESET = "startup.reset"
"""What every running state hears when a daemon starts."""


class LifecycleState(msgspec.Struct, frozen=True):
    """A state: what kind it is, and what people call it."""

    type: str
    public: str = ""


class Call(msgspec.Struct, frozen=True):
    """What a guard asks, or an effect does: a function by its name, and what it is given."""

    fn: str
    args: Any = None


class Transition(msgspec.Struct, frozen=True, kw_only=True):
    """What an event does in one state, or in all of them."""

    event: str
    start: str
    to: str | None
    """None keeps the state."""
    guard: str = ""
    chain: str = ""
    """A transient state that is passed through on the way."""
    kanban: str = ""
    """The marker that the task gets."""
    effects: tuple[str, ...] = ()


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from an event."""

    to: str
    """The state afterwards."""
    chain: str
    kanban: str
    effects: tuple[str, ...]


class Lifecycle(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A state machine."""

    states: dict[str, LifecycleState]
    guards: dict[str, Call]
    effects: dict[str, Call]
    transitions: tuple[Transition, ...]

    @cached_property
    def by_event(self) -> dict[str, list[Transition]]:
        """The transitions of each event, in their order."""
        found: dict[str, list[Transition]] = {}
        for transition in self.transitions:
            found.setdefault(transition.event, []).append(transition)
        return found


def step(lifecycle: Lifecycle, state: str, event: str, holds: Callable[[str], bool]) -> Step | None:
    """What an event does: the first transition whose guard holds; None where none does."""
    if state not in lifecycle.states:
        raise UserError(
            f"no state {state!r}", f"there are {', '.join(sorted(lifecycle.states)) or 'none'}"
        )
    for transition in lifecycle.by_event.get(event, ()):
        if transition.start not in (ANY, state):
            continue
        if transition.guard and not holds(transition.guard):
            continue
        return Step(
            to=state if transition.to is None else transition.to,
            chain=transition.chain,
            kanban=transition.kanban,
            effects=transition.effects,
        )
    return None


def unless(denied: Mapping[str, bool]) -> Callable[[str], bool]:
    """Guards that hold unless somebody says otherwise."""
    return lambda name: denied.get(name, True)
