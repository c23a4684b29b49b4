"""What bounds a git: its time, its memory, and how much of an answer is read."""

from __future__ import annotations

import time

QUICK = 60.0
LONG = 1800.0
FILTERS = 600.0
"""Seconds for what the person's filters write at once: they may fetch it from elsewhere."""
LOOK = 30.0
"""Seconds for questions about what an agent wrote, who can have git take for ever with each."""
MOST = 128 << 20
"""Bytes of an answer about what an agent wrote, which it can make as long as it likes."""
_MEMORY = 2 << 30
_SECONDS = 600
_LIMITED = 'ulimit -v $1; ulimit -t $2; ulimit -c 0; shift 2; exec "$@"'
LIMITS = ("/bin/sh", "-c", _LIMITED, "windlass-git", str(_MEMORY >> 10), str(_SECONDS))

WITH_LITTLE_MEMORY: dict[str, str] = {
    # Where the address space is limited: git would map whole packs.
    "core.packedGitWindowSize": "16m",
    "core.packedGitLimit": "256m",
    "core.bigFileThreshold": "16m",
    "pack.threads": "1",
}


class Patience:
    """The time for several questions together about what one agent wrote."""

    def __init__(self) -> None:
        self._end = time.monotonic() + LOOK

    @property
    def left(self) -> float:
        """The seconds that are left for the next question."""
        return max(0.0, self._end - time.monotonic())
