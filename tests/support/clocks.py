"""A clock for stores that no daemon has."""

from __future__ import annotations


class Stopped:
    """A clock that stands, until a test turns it."""

    def __init__(self, time: float = 100.0) -> None:
        self.time = time

    def now(self) -> float:
        """The time it was set to."""
        return self.time
