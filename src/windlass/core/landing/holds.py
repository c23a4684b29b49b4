"""Why a revision is held, in words that are compared; imports nothing: every screen has it."""

from __future__ import annotations

REVIEW = "nobody has looked at it yet"
"""Why a person has to look at a revision that has nothing special about it."""

COULD_NOT_RUN = "the gate could not run"
"""Why a revision is held that nobody can judge; what stood against it is told after it."""


def needs(change: str, needed: str, state: str) -> str:
    """Why a change is held that lands after another, which does not land as it is."""
    why = f"it needs {needed}, which is {state}"
    return f"{why}: to land it without, wl merge {change} --no-needs" if state == "dropped" else why


def halted(target: str) -> str:
    """Why nothing is tried on a target that is red: what waits for that goes on when it is not."""
    return f"{target} is not green by itself"
