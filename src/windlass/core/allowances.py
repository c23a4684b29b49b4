"""What an agent may give of its own limits to those below it: never more than it has. Pure.

What is left is counted by the daemon's `spend.allowances`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from windlass.core.crew import Limits
from windlass.core.errors import Denied
from windlass.core.ids import AgentId

_OPTIONS = {"turns": "--max-turns", "usd": "--max-budget", "seconds": "--time-limit"}
_UNITS = {"turns": "turns", "usd": "USD", "seconds": "seconds"}


class Allowance(NamedTuple):
    """What one agent has left of its limits; None is where it has no limit of its own.

    `common` is the USD that an agent without such a limit may spend; 0 is no limit.
    """

    giver: AgentId
    left: Limits
    common: float = 0.0


def given(asked: Limits, allowances: Sequence[Allowance]) -> Limits:
    """The limits of an agent that is started: what is not asked for is what its givers have left.

    Refuses what is more than that. Without a giver it is a person who asks, for whatever they like.
    """
    refuse_more(asked, allowances)
    unsaid = [name for name in _OPTIONS if getattr(asked, name) is None]
    return msgspec.structs.replace(asked, **{name: _inherited(name, allowances) for name in unsaid})


def refuse_more(asked: Limits, allowances: Sequence[Allowance]) -> None:
    """Refuses limits that are wider than what any of the givers has left."""
    for allowance in allowances:
        for name in _OPTIONS:
            left = getattr(allowance.left, name)
            if left is None and name == "usd":
                left = allowance.common or None
            _refuse(name, getattr(asked, name), left, allowance.giver)


def _refuse(name: str, wanted: float | None, left: float | None, giver: AgentId) -> None:
    if wanted is None or left is None or wanted <= left:
        return
    _refuse_empty(name, left, giver)
    shown = f"{math.floor(left * 100) / 100:g}"
    raise Denied(
        f"{giver} cannot give {wanted:g} {_UNITS[name]}: it has {shown} itself",
        f"give at most that: {_OPTIONS[name]} {shown}{'s' if name == 'seconds' else ''};"
        " or ask the person",
    )


def _refuse_empty(name: str, left: float, giver: AgentId) -> None:
    if left <= 0:
        raise Denied(
            f"{giver} has nothing left of its own limit in {_UNITS[name]}",
            "ask the person, or its manager, to raise that",
        )


def _inherited(name: str, allowances: Sequence[Allowance]) -> float | None:
    """The least that a giver has left; what everybody may spend is no reason to give more."""
    limited = [each for each in allowances if getattr(each.left, name) is not None]
    for each in limited:
        _refuse_empty(name, getattr(each.left, name), each.giver)
    left = [getattr(each.left, name) for each in limited]
    if left and name == "usd":
        left += [each.common for each in allowances if each.common]
    return min(left, default=None)
