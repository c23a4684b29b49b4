"""One daemon per state folder: a lock that dies with its process, and a note of who holds it."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any, TextIO

from windlass.core.errors import ConfigError, Conflict
from windlass.core.ports import Clock

_PATIENCE = 0.5


class Lock:
    """The lock that a daemon holds for as long as it lives."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None

    def take(self, note: dict[str, Any], clock: Clock) -> None:
        """Takes the lock, or says who has it."""
        try:
            self._file = self._path.open("a+")
        except OSError as error:
            raise ConfigError(
                f"{self._path} cannot be written: {error.strerror}",
                "set WINDLASS_HOME to a folder that you can write to",
            ) from None
        if not _locked(self._file, clock.unscaled):
            self._file.seek(0)
            raise Conflict(
                f"a daemon runs already: {self._file.read().strip()}", "`wl daemon status`"
            )
        self._file.seek(0)
        self._file.truncate()
        self._file.write(json.dumps({"pid": os.getpid(), **note}) + "\n")
        self._file.flush()

    def release(self) -> None:
        """Lets go; the file stays, because removing it would race with the next taker."""
        if self._file is not None:
            self._file.close()


def _locked(file: TextIO, clock: Clock) -> bool:
    # Whoever asks whether a daemon runs holds the lock for an instant, and is no daemon.
    end = clock.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if clock.monotonic() > end:
                return False
            clock.sleep(0.01)
        else:
            return True
