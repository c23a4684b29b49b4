"""The status file that a live session keeps while it runs, as the real program does."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from time import time

import msgspec

from windlass import __version__


class StatusFile:
    """`<config>/sessions/<pid>.json`, replaced whole at each change."""

    def __init__(self, config: Path, *, session: str, cwd: str) -> None:
        self._path = config / "sessions" / f"{os.getpid()}.json"
        self._session = session
        self._cwd = cwd
        self._started = int(time() * 1000)
        self._status = ""

    def set(self, status: str, waiting_for: str | None = None) -> None:
        """Writes the status if it changed; a disk that refuses does not stop the session."""
        if status == self._status:
            return
        self._status = status
        now = int(time() * 1000)
        data = {
            "pid": os.getpid(),
            "sessionId": self._session,
            "cwd": self._cwd,
            "startedAt": self._started,
            "version": __version__,
            "kind": "interactive",
            "status": status,
            "updatedAt": now,
            "statusUpdatedAt": now,
        }
        if waiting_for:
            data["waitingFor"] = waiting_for
        fresh = self._path.with_suffix(".new")
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fresh.write_bytes(msgspec.json.encode(data))
            fresh.replace(self._path)

    def remove(self) -> None:
        """Takes the file away at the end."""
        with contextlib.suppress(OSError):
            self._path.unlink()
