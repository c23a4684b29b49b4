"""One daemon per state folder: a lock that dies with its process, and a note of who holds it."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any

from windlass.core.errors import Conflict


class Lock:
    """Held for the life of the daemon."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("a+")

    def take(self, note: dict[str, Any]) -> None:
        """Takes the lock, or says who has it."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.seek(0)
            raise Conflict(
                f"a daemon runs already: {self._file.read().strip()}", "`wl daemon status`"
            ) from None
        self._file.seek(0)
        self._file.truncate()
        self._file.write(json.dumps({"pid": os.getpid(), **note}) + "\n")
        self._file.flush()

    def release(self) -> None:
        """Lets go; the file stays, because removing it would race with the next taker."""
        self._file.close()
