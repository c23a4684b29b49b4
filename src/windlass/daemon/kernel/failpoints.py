"""Dying on purpose: a daemon under test ends itself with -9 at a named point, once.

Off unless `WINDLASS_FAILPOINTS` names a folder; a file in it called like the point arms it. Nothing
else in the product knows about it.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path


class Failpoints:
    """Armed by files, so that the daemon that comes after does not die at the same point."""

    def __init__(self, folder: str | None) -> None:
        self._folder = Path(folder) if folder else None

    def reached(self, name: str) -> None:
        """Ends this process if the point is armed."""
        if self._folder is None:
            return
        try:
            (self._folder / name).unlink()
        except FileNotFoundError:
            return
        os.kill(os.getpid(), signal.SIGKILL)
