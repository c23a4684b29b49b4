"""The database's own files: whether they are still those that were opened, and only SQLite's work.

A process goes on reading and writing a file that was deleted or moved, and nobody ever finds what
it wrote. And what another program writes over the file is not noticed by who has parts of it in
memory. So both are looked at before anything is answered: some microseconds. Another program that
opens the database as one may write to it: it leaves word of that in the file `-shm`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_BESIDE = ("", "-wal", "-shm")
_SALTS = slice(32, 40)
_CARRIED = slice(96, 100)
_BEGUN = slice(128, 132)
"""Where in `-shm` it says which log it is about, how much of that is carried into the database, and
how much somebody has begun to carry: `aSalt`, `nBackfill` and `nBackfillAttempted` in
https://www.sqlite.org/walformat.html, of which the last is written before the database is."""
_INDEX = 136


class _Seen(NamedTuple):
    """The database as it was left: its size and age, and how far its log was carried into it."""

    size: int
    written: int
    state: bytes

    @property
    def is_carried_to(self) -> bool:
        """Whether SQLite is at work on it."""
        return self.state[_CARRIED] != self.state[_BEGUN]

    @property
    def carried(self) -> bytes:
        """What is another whenever SQLite has written to the database."""
        return self.state[_SALTS] + self.state[_CARRIED] + self.state[_BEGUN]


class DatabaseFile:
    """The database as it was opened, and as it was seen last. Close it after every connection."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._files = {f"{path}{end}": _identity(f"{path}{end}") for end in _BESIDE}
        # Open until the end: closing it would give up every lock that SQLite has on it by then.
        self._index = os.open(f"{path}-shm", os.O_RDONLY | os.O_CLOEXEC)
        self._last = self._look() or _Seen(0, 0, bytes(_INDEX))

    def close(self) -> None:
        """Lets go of the file; SQLite must not have it open any more."""
        os.close(self._index)

    def loss(self) -> str:
        """Says what became of it; nothing where it is as it was left, or SQLite's own work."""
        if gone := self._gone():
            return gone
        now, last = self._look(), self._last
        if now is None or now.is_carried_to:
            return ""
        if now[:2] != last[:2] and now.carried == last.carried:
            return f"another program wrote over {self._path}"
        self._last = now
        return ""

    def written(self) -> str:
        """Notes how a change of our own leaves it; says what became of it meanwhile."""
        gone = self._gone()
        if not gone:
            self._last = self._look() or self._last
        return gone

    def is_gone(self) -> bool:
        """Whether a file of it has no name any more, or another: then it can still be read."""
        return bool(self._gone())

    def _gone(self) -> str:
        for path, was in self._files.items():
            now = _identity(path)
            if now is None:
                return f"{path} was deleted or moved away"
            if now != was:
                return f"{path} is another file by now"
        return ""

    def _look(self) -> _Seen | None:
        """How it is now; None where SQLite is at work on it just then."""
        before = os.pread(self._index, _INDEX, 0)
        try:
            found = os.stat(self._path)  # noqa: PTH116 - before every answer: a Path is half as fast
        except FileNotFoundError:
            return None  # deleted just now, as the next look says
        seen = _Seen(found.st_size, found.st_mtime_ns, os.pread(self._index, _INDEX, 0))
        return seen if seen.carried == seen._replace(state=before).carried else None


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - as above
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
