"""How many files the daemon may have open: some systems allow a program 256 unless it asks."""

from __future__ import annotations

import resource
from contextlib import suppress

MOST = 8192
"""Enough for a thousand agents. What the daemon starts has the same limit, and some programs look
at each number that they might have open."""


def allow_enough() -> None:
    """Raises the limit as far as the system lets us; one that is higher stays."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST if hard == resource.RLIM_INFINITY else min(MOST, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(OSError, ValueError):  # macOS allows less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
