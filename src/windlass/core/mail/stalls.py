"""Stalls: what keeps an agent from going on though nothing says so, and what is told of it.

Pure. Limits of money, time and use are told where they are judged; here is the rest: calls that
were denied, a setup without end, commits that do not come home.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from windlass.core.printable import printable_line

What = Literal["denied", "setup", "homecoming"]
LONG: dict[What, float] = {"denied": 0.0, "setup": 300.0, "homecoming": 120.0}
"""Seconds after which each is no matter of patience any more."""
_LONGEST_WHY = 300


class Stall(NamedTuple):
    """What an agent is held up by: the kind, the reason, and what lets it go on."""

    what: What
    why: str
    go_on: str

    def told(self, name: str) -> str:
        """What its manager and the person are told."""
        return f"Agent {name} {self.why}. To go on: {self.go_on}"


def denied(name: str, reason: str, *, count: int) -> Stall:
    """That calls which a task needs were denied. What would allow them is an agent's own words."""
    times = f" {count} times" if count > 1 else ""
    return Stall(
        "denied",
        f"was denied what it wanted{times}: {printable_line(reason)[:_LONGEST_WHY]}",
        f'wl send {name} "..." has it done otherwise; wl denials {name} numbers what was denied,'
        " and with --allow N allows it to this agent at once",
    )


def setup(name: str, evidence: str, *, log: str) -> Stall:
    """That an agent is still being prepared."""
    said = f" ({printable_line(evidence)})" if evidence else ""
    return Stall(
        "setup",
        f"is still being set up, for {LONG['setup'] / 60:.0f} minutes now{said}",
        f"see what setup prints in {log}, or end it: wl kill {name}",
    )


def homecoming(name: str, why: str, hint: str) -> Stall:
    """That an agent's commits do not come home."""
    return Stall(
        "homecoming",
        f"cannot bring its commits home: {printable_line(why)[:_LONGEST_WHY]}",
        f"{printable_line(hint)}; what is known: wl why {name}",
    )
