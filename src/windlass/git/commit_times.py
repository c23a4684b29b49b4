"""The times that commits say, as git prints them.

Git takes commits without an author, or of any year, from whoever writes them by other means.
"""

from __future__ import annotations

_LATEST = 253402300799
"""The end of the year 9999, in seconds: no calendar here has a later one."""


def read(said: bytes) -> int:
    """The time in seconds; 0 where the commit says none, or one that no calendar has."""
    time = int(said) if said.isdigit() else 0
    return time if time <= _LATEST else 0
