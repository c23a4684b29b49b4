"""The files of one session's folder, as the holder writes them: who holds it, how it ended.

Owns reading them and telling whether the holder named there still is that process. The holder
itself cannot import this; the file formats are the contract between the two.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TypeVar

import msgspec
import psutil

SPEC = "spec.json"
HOLDER = "holder.json"
EXIT = "exit"
STOPPING = "stopping"
STDIN = "stdin"
OUTPUT = "output"
STDERR = "stderr"
SCREEN = "screen.log"

_T = TypeVar("_T")
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Holder(msgspec.Struct, frozen=True):
    """Which process holds the session; `child` is None until the program runs."""

    pid: int
    start: int | None
    boot: str
    at: float
    child: int | None

    def process(self) -> psutil.Process | None:
        """Returns the living holder; None when it is gone, even if its number is in use again."""
        if self.boot and self.boot != _boot_id():
            return None
        with contextlib.suppress(psutil.Error, OSError, ValueError):
            process = psutil.Process(self.pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                return None
            if self.start is not None:
                return process if _start_ticks(self.pid) == self.start else None
            return process if abs(process.create_time() - self.at) < 2.0 else None
        return None


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


def _read(path: Path, kind: type[_T]) -> _T | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError:
        return None  # holder.json is claimed before it is filled


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _start_ticks(pid: int) -> int:
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    # The command name may hold spaces and brackets: count from its last bracket.
    return int(stat.rpartition(")")[2].split()[19])
