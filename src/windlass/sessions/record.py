"""The files of one session's folder, as the holder writes them: who holds it, how it ended.

Owns reading them and telling whether the holder named there still is that process. The holder
itself cannot import this; the file formats are the contract between the two.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from windlass.core import shapes
from windlass.core.sessions import SPEC, Started
from windlass.sessions.census import Identity, identify

HOLDER = "holder.json"
EXIT = "exit"
STOPPING = "stopping"
STDIN = "stdin"
STDERR = "stderr"

_T = TypeVar("_T")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Holder(msgspec.Struct, frozen=True):
    """Which process holds the session; `child` is None until the program runs."""

    pid: int
    start: int | None
    boot: str
    at: float
    child: int | None

    def living(self) -> Identity | None:
        """Returns the living holder; None when it is gone, even if its number is in use again."""
        if self.boot and self.boot != _boot_id():
            return None
        now = identify(self.pid)
        if now is None:
            return None
        same = now.start == self.start if self.start else abs(now.start - self.at) < 2.0
        return now if same else None


class Exit(msgspec.Struct, frozen=True):
    """How the program ended; `reason` is only there when it could not be started."""

    code: int
    at: float
    reason: str = ""


def read_holder(folder: Path) -> Holder | None:
    """Reads who holds the session; None before it starts."""
    return _read(folder / HOLDER, Holder)


def read_exit(folder: Path) -> Exit | None:
    """Reads how the program ended; None while it runs, or when nobody could write it down."""
    return _read(folder / EXIT, Exit)


def read_started(folder: Path) -> Started | None:
    """Reads what a session was started as; None where none was."""
    return _read(folder / SPEC, Started)


def _read(path: Path, kind: type[_T]) -> _T | None:
    try:
        return shapes.decode(path.read_bytes(), kind)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError:
        return None  # holder.json is claimed before it is filled


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
