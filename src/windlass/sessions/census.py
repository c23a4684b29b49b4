"""One look at every process of this machine: its parent and its environment.

Owns the reading only. Straight from /proc where there is one, because psutil takes four times as
long per process, and a stop looks several times at a machine with a thousand of them.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, NamedTuple

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterable

_DEAD = (b"Z", b"X")


class Entry(NamedTuple):
    """A process: its parent's id, when it started, its environment as NUL-separated assignments.

    The start is in the system's own unit; with the pid it tells one process from every other.
    """

    parent: int
    start: float
    environ: bytes

    def has(self, assignment: bytes) -> bool:
        """Says whether exactly this NAME=value is in the environment."""
        return b"\0%b\0" % assignment in b"\0%b\0" % self.environ


def take() -> dict[int, Entry]:
    """Looks at all processes, at the newest first; those that end meanwhile are left out."""
    return _look_at(sorted(psutil.pids(), reverse=True))


def newest(count: int = 64) -> dict[int, Entry]:
    """Looks at the latest process numbers given out only, which takes well under a millisecond.

    A program that keeps replacing itself is always among them, and often gone before a look at
    everything has come to it. Empty where the system does not tell its latest number.
    """
    try:
        latest = int(_slurp("/proc/loadavg").split()[-1])
    except (OSError, ValueError, IndexError):
        return {}
    return _look_at(range(latest, max(latest - count, 1), -1))


def _look_at(pids: Iterable[int]) -> dict[int, Entry]:
    found = ((pid, look(pid)) for pid in pids)
    return {pid: entry for pid, entry in found if entry is not None}


def look(pid: int) -> Entry | None:
    """Looks at one process; None when it has ended, collected by its parent or not.

    An environment that may not be read counts as empty.
    """
    if sys.platform != "linux":
        return _ask_psutil(pid)
    try:
        stat = _slurp(f"/proc/{pid}/stat")
        # The command name may hold spaces and brackets: count from its last bracket.
        fields = stat.rpartition(b")")[2].split(None, 20)
        if fields[0] in _DEAD:
            return None
        parent, start = int(fields[1]), int(fields[19])
    except (OSError, IndexError, ValueError):
        return None
    environ = b""
    with contextlib.suppress(OSError):
        environ = _slurp(f"/proc/{pid}/environ")
    return Entry(parent, start, environ)


def _slurp(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(descriptor, 1 << 17):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _ask_psutil(pid: int) -> Entry | None:
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        parent, start = process.ppid(), process.create_time()
    except psutil.Error:
        return None
    environ: dict[str, str] = {}
    with contextlib.suppress(psutil.Error, OSError):
        environ = process.environ()
    assignments = (os.fsencode(f"{key}={value}") for key, value in environ.items())
    return Entry(parent, start, b"\0".join(assignments))
