"""A text that one thread prepares and another waits for, but not for long."""

from __future__ import annotations

import threading


class Handover:
    """Given and taken at most once: whoever comes too late is told so."""

    def __init__(self) -> None:
        self._text: str | None = None
        self._given = threading.Event()
        self.is_late = False
        """Whether nobody waits any more."""
        self._guard = threading.Lock()

    def give(self, text: str | None) -> bool:
        """Hands a text over; False where nobody waits for it any more."""
        with self._guard:
            if not self.is_late:
                self._text = text
                self._given.set()
            return not self.is_late

    def take(self, *, within: float) -> str | None:
        """Waits so many seconds for the text; afterwards nothing can be given any more."""
        self._given.wait(within)
        with self._guard:
            self.is_late = True
            return self._text
