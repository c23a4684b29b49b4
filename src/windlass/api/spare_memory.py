"""Memory that was needed for a large answer, given back to the system."""

from __future__ import annotations

import ctypes


def give_back() -> None:
    """Gives back what the C library keeps of memory that nobody uses any more.

    Each of its threads keeps what it had at most: one list of all who ever lived would stay in the
    daemon's size for good. Only glibc has a word for it; others keep less.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
