"""One daemon per state folder: locks that die with their process, and a note of who holds them.

The folder is locked beside the file: a file can be moved away from under a daemon, and the next one
would lock another of the same name and write to the same store.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
from pathlib import Path
from typing import Any, TextIO

from windlass.core.errors import ConfigError, Conflict
from windlass.core.ports import Clock

log = logging.getLogger(__name__)

_PATIENCE = 0.5
"""Whoever asks whether a daemon runs holds the file's lock for an instant, and is no daemon."""
_PATIENCE_WITH_ONE_THAT_ENDS = 10.0
"""Nobody but a daemon locks the folder: without its file it ends by itself, and is waited for."""


class Lock:
    """The lock that a daemon holds for as long as it lives."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: TextIO | None = None
        self._folder: int | None = None
        self._note: dict[str, Any] = {}

    def take(self, note: dict[str, Any], clock: Clock) -> None:
        """Takes the lock, or says who has it."""
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            self._file = os.fdopen(descriptor, "r+")
            self._folder = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise ConfigError(
                f"{self._path} cannot be written: {error.strerror}",
                "set WINDLASS_HOME to a folder that you can write to",
            ) from None
        if not locked(self._file.fileno(), _PATIENCE, clock.unscaled):
            self._file.seek(0)
            raise Conflict(
                f"a daemon runs already: {self._file.read().strip()}", "`wl daemon status`"
            )
        if not _folder_locked(self._folder, clock.unscaled):
            raise Conflict(
                f"a daemon runs already, whose {self._path} was moved away",
                "it should have ended by itself: `wl daemon logs` says what it does",
            )
        self.tell(pid=os.getpid(), **note)

    def tell(self, **more: Any) -> None:
        """Adds to the note what others are to know of this daemon."""
        if self._file is None:
            raise AssertionError("only who holds the lock writes the note")
        self._note |= more
        # What is there already is written over first: on a full disk there is room for no more.
        self._file.seek(0)
        self._file.write(json.dumps(self._note) + "\n")
        self._file.flush()
        self._file.truncate()

    def is_in_place(self) -> bool:
        """Whether the file that is locked is still the one that everybody else looks at."""
        if self._file is None:
            return False
        try:
            there = self._path.stat()
        except OSError:
            return False
        return os.path.samestat(there, os.fstat(self._file.fileno()))

    def release(self) -> None:
        """Lets go; the file stays, because removing it would race with the next taker."""
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:  # what could not be written is tried once more; it is closed
                log.warning("the note in %s is not whole: %s", self._path, error.strerror)
            self._file = None
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None


def _folder_locked(folder: int, clock: Clock) -> bool:
    try:
        return locked(folder, _PATIENCE_WITH_ONE_THAT_ENDS, clock)
    except OSError:  # a file system that locks no folders, as NFS: then the file has to do
        return True


def locked(file: int, patience: float, clock: Clock) -> bool:
    """Locks an open file, for as long as somebody has it open; False if others have it too long."""
    end = clock.monotonic() + patience
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if clock.monotonic() > end:
                return False
            clock.sleep(0.01)
        else:
            return True
