"""Why a revision is held, in words that are compared; imports nothing: every screen has it."""

from __future__ import annotations

REVIEW = "nobody has looked at it yet"
"""Why a person has to look at a revision that has nothing special about it."""

_HALTS = ("failed", "could-not-run", "ran-nothing", "gone")
COULD_NOT_RUN = "the gate could not run"
"""Why a revision is held that nobody can judge; what stood against it is told after it."""


def needs(change: str, needed: str, state: str) -> str:
    """Why a change is held that lands after another, which does not land as it is."""
    why = f"it needs {needed}, which is {state}"
    return f"{why}: to land it without, wl merge {change} --no-needs" if state == "dropped" else why


def halted(target: str, outcome: str = "failed") -> str:
    """Why nothing lands on a target: what waits goes on once that is there, and green."""
    match outcome:
        case "could-not-run":
            return f"the gate could not run on {target} itself"
        case "ran-nothing":
            return f"no test ran on {target} itself"
        case "gone":
            return f"there is no branch {target} to land on"
        case _:
            return f"{target} is not green by itself"


def is_halted(why: str, target: str) -> bool:
    """Whether a change waits for nothing but that its target is there, and green."""
    return why in {halted(target, outcome) for outcome in _HALTS}
