"""The database's own files: whether they are still those that were opened, and ours alone.

A process goes on reading and writing a file that was deleted or moved, and nobody ever finds what
it wrote. And what another program writes over the file is not noticed by who has parts of it in
memory. So both are looked at before anything is answered: some microseconds.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple


class _Seen(NamedTuple):
    """What tells one file from another in its place, and what was written from what was not."""

    device: int
    number: int
    size: int
    written: int


class DatabaseFile:
    """The database as it was opened, and as we left it last."""

    def __init__(self, path: Path) -> None:
        self._path = str(path)
        self._log = f"{path}-wal"
        self._last = _look(self._path)
        self._log_as_opened = _look(self._log)

    def loss(self) -> str:
        """Says what became of it; nothing where it is as we left it."""
        return self._gone() or ("another program wrote over it" if self._is_changed() else "")

    def written(self) -> str:
        """Notes how we leave it after a change of our own; says what became of it meanwhile."""
        gone = self._gone()
        if not gone:
            self._last = _look(self._path)
        return gone

    def is_gone(self) -> bool:
        """Whether a file of it has no name any more, or another: then it can still be read."""
        return bool(self._gone())

    def _gone(self) -> str:
        return _gone(self._path, self._last) or _gone(self._log, self._log_as_opened)

    def _is_changed(self) -> bool:
        return _look(self._path) != self._last


def _gone(path: str, was: _Seen | None) -> str:
    now = _look(path)
    if now is None:
        return f"{path} was deleted or moved away" if was is not None else ""
    if was is not None and (now.device, now.number) != (was.device, was.number):
        return f"{path} is another file by now"
    return ""


def _look(path: str) -> _Seen | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - before every answer, and half as fast with a Path
    except FileNotFoundError:
        return None
    return _Seen(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
