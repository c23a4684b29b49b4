"""One look at the processes of this machine: who they are, their parents, their environments.

To read an environment waits for the process, which can have it take seconds each time. So each is
read once for each program that a process becomes. Of a process in a box none is: a box is a tree
that nothing leaves, below a process of ours that says whose.

Owns the reading only. Straight from /proc where there is one, because psutil takes four times as
long per process, and a stop looks several times at a machine with a thousand of them.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_DEAD = (b"Z", b"X")
_CODE, _ENVIRON = slice(23, 25), slice(45, 49)
"""Among what the system tells of a process after its name: where these begin and end."""
_MARKS = (b"WINDLASS_SESSION=", b"WINDLASS_RUN=")
"""How the marks in an environment begin that say whose a process is."""


class Identity(NamedTuple):
    """One process and no other: its number, and its start in the system's own unit."""

    pid: int
    start: float

    def lives(self) -> bool:
        """Says whether it has not ended; one that nobody collected yet has."""
        return identify(self.pid) == self


class ProcessEntry(NamedTuple):
    """A living process: who it is, its parent, its environment as NUL-separated assignments."""

    identity: Identity
    parent: int
    environ: bytes
    boxed: bool = False
    """Whether it is in a namespace of processes of its own, as all in a box are."""

    def has(self, *assignments: bytes) -> bool:
        """Says whether exactly one of these NAME=value is in the environment."""
        environ = b"\0%b\0" % self.environ
        return any(b"\0%b\0" % assignment in environ for assignment in assignments)


class Descent(NamedTuple):
    """Whose child a process is, when it started, and whether it has ended and nobody knows yet."""

    parent: int
    start: float
    ended: bool
    image: tuple[bytes, ...] = ()
    """Where its program and its environment lie in memory, which another program changes."""


class Together:
    """Looks that several threads want: each has one that began after it asked, and shares it."""

    def __init__(self, look: Callable[[], dict[int, ProcessEntry]]) -> None:
        self._look = look
        self._changed = threading.Condition()
        self._begun = 0
        self._over = 0
        self._is_looking = False
        self._found: dict[int, ProcessEntry] = {}
        self.waiting = 0
        """How many wait for the next look."""

    def take(self) -> dict[int, ProcessEntry]:
        """Looks, or waits for who looks."""
        with self._changed:
            wanted = self._begun + 1
            self.waiting += 1
            while self._is_looking and self._over < wanted:
                self._changed.wait()
            self.waiting -= 1
            if self._over >= wanted:
                return self._found
            self._begun += 1
            self._is_looking = True
        found = None
        try:
            found = self._look()
        finally:
            with self._changed:
                self._is_looking = False
                if found is not None:
                    self._over, self._found = self._begun, found
                self._changed.notify_all()
        return found


def take() -> Mapping[int, ProcessEntry]:
    """Looks at all processes, at the newest first; those that end meanwhile are left out.

    Whoever asks while others do looks together with them: two hundred that stop at once would each
    look at the processes of all.
    """
    return _TOGETHER.take()


def _take() -> dict[int, ProcessEntry]:
    looks = ((pid, look(pid)) for pid in sorted(psutil.pids(), reverse=True))
    found = {pid: entry for pid, entry in looks if entry is not None}
    for pid in _READ.keys() - found.keys():
        _READ.pop(pid, None)
    for pid, entry in found.items():
        if _is_orphan(entry, found):
            found[pid] = entry._replace(environ=environ(pid))
    return found


def _is_orphan(entry: ProcessEntry, found: Mapping[int, ProcessEntry]) -> bool:
    """Whether it is the first of its box, and nothing above it says whose that is."""
    if not entry.boxed:
        return False
    above = found.get(entry.parent)
    return above is None or not (above.boxed or any(mark in above.environ for mark in _MARKS))


_TOGETHER = Together(_take)


def newest(count: int = 64) -> Iterator[ProcessEntry]:
    """Looks at the latest process numbers given out only, from the very latest down.

    A program that keeps replacing itself is always among them, and often gone before a look at
    everything has come to it. Nothing where the system does not tell its latest number.
    """
    try:
        latest = int(_slurp("/proc/loadavg").split()[-1])
    except (OSError, ValueError, IndexError):
        return
    for pid in range(latest, max(latest - count, 1), -1):
        # In this order: a thread's environment is its process', which may be long in coming.
        if not _is_thread(pid) and (entry := look(pid)) is not None:
            yield entry


def _is_thread(pid: int) -> bool:
    """Threads have numbers of their own, under which /proc shows them though it lists none."""
    try:
        return b"\nTgid:\t%d\n" % pid not in _slurp(f"/proc/{pid}/status")
    except OSError:
        return True


def identify(pid: int) -> Identity | None:
    """Fixes who has this number now; None when nobody living has."""
    found = descent(pid)
    return None if found is None or found.ended else Identity(pid, found.start)


def look(pid: int) -> ProcessEntry | None:
    """Looks at one process; an environment that is not read, or may not be, counts as empty."""
    found = descent(pid)
    if found is None or found.ended:
        return None
    boxed = _is_boxed(pid)
    said = b"" if boxed else _read_once(pid, found)
    return ProcessEntry(Identity(pid, found.start), found.parent, said, boxed)


_READ: dict[int, tuple[Descent, bytes]] = {}
"""The environments of those that live, each with what it was read of."""


def _read_once(pid: int, now: Descent) -> bytes:
    """The environment of a process, which is read anew once it has become another program.

    One that was forked and is no other program yet has its parent's, at the same place.
    """
    known, above = _READ.get(pid), _READ.get(now.parent)
    if known is not None and now.image and known[0][1:] == now[1:]:
        return known[1]
    if above is not None and now.image and above[0].image == now.image:
        said = above[1]
    else:
        # Read after the look at the image: where that changes in between, it is read once more.
        said = environ(pid)
    if said:
        _READ[pid] = (now, said)
    return said


def _is_boxed(pid: int) -> bool:
    """Whether a process numbers processes otherwise than we do; not where that is not told."""
    try:
        return os.readlink(f"/proc/{pid}/ns/pid") != _namespace()  # noqa: PTH115 - text of the kernel's
    except OSError:
        return False


@cache
def _namespace() -> str:
    return os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - text of the kernel's


def descent(pid: int) -> Descent | None:
    """Says whose child a process is; None when there is none, or none that we may see."""
    if sys.platform != "linux":
        return _ask_psutil(pid)
    try:
        # The command name may hold spaces and brackets: count from its last bracket.
        fields = _slurp(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        # Where only the first thread has ended, the others go on, and it has more than one.
        ended = fields[0] in _DEAD and int(fields[17]) <= 1
        image = (*fields[_CODE], *fields[_ENVIRON])
        is_told = b"0" not in image  # not of other users' processes, nor while it is made
        return Descent(int(fields[1]), int(fields[19]), ended, image if is_told else ())
    except (OSError, IndexError, ValueError):
        return None


def _ask_psutil(pid: int) -> Descent | None:
    try:
        process = psutil.Process(pid)
        ended = process.status() == psutil.STATUS_ZOMBIE
        return Descent(process.ppid(), process.create_time(), ended)
    except psutil.Error:
        return None


def environ(pid: int) -> bytes:
    """Reads the environment that a process was started with; empty where that is not allowed.

    This may wait for the process, unlike everything else here.
    """
    if sys.platform != "linux":
        return _ask_psutil_for_environ(pid)
    try:
        return _slurp(f"/proc/{pid}/environ")
    except ProcessLookupError:
        return _environ_of_thread(pid)
    except OSError:
        return b""


def _environ_of_thread(pid: int) -> bytes:
    """The same, of a process whose first thread has ended: that one has none any more."""
    with suppress(OSError), os.scandir(f"/proc/{pid}/task") as threads:
        for thread in threads:
            with suppress(OSError):
                return _slurp(f"{thread.path}/environ")
    return b""


def _ask_psutil_for_environ(pid: int) -> bytes:
    try:
        environ = psutil.Process(pid).environ()
    except (OSError, psutil.Error):
        return b""
    return b"\0".join(os.fsencode(f"{key}={value}") for key, value in environ.items())


def _slurp(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(descriptor, 1 << 17):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)
