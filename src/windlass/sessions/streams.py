"""What goes into a headless session: the FIFO. What comes out is read from its output file.

Owns bytes only; what the lines mean belongs to the drivers.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import time
from typing import TYPE_CHECKING

from windlass.core.errors import Conflict
from windlass.sessions import record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_UNSENT = "stdin.unsent"


def write(folder: Path, data: bytes, *, timeout: float = 30.0) -> None:
    """Writes to the session's standard input, whole and not mixed with other writers.

    Conflict when nothing runs there, or when the program stops reading for `timeout` seconds.
    What was cut off then is kept and goes first in the next write, so no line is ever torn.
    """
    descriptor = _open_fifo(folder)
    try:
        with _alone(folder):
            unsent = folder / _UNSENT
            with contextlib.suppress(FileNotFoundError):
                data = unsent.read_bytes() + data
            rest = _push(descriptor, data, time.monotonic() + timeout)
            if rest == data:
                raise _unread(folder, timeout)
            if rest:
                unsent.write_bytes(rest)
                raise _unread(folder, timeout)
            unsent.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def is_open(folder: Path) -> bool:
    """Whether what is written to the session's standard input would have a reader."""
    try:
        os.close(_open_fifo(folder))
    except Conflict:
        return False
    return True


def _open_fifo(folder: Path) -> int:
    try:
        return os.open(folder / record.STDIN, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno not in {errno.ENXIO, errno.ENOENT}:
            raise
        raise Conflict(
            f"no headless session is running in {folder}", "Resume the agent, then send again."
        ) from None


def _push(descriptor: int, data: bytes, deadline: float) -> bytes:
    """Writes until all is written or the deadline has come; returns the rest."""
    ready = select.poll()
    ready.register(descriptor, select.POLLOUT)
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            left = deadline - time.monotonic()
            if left <= 0 or not ready.poll(left * 1000):
                break
        except BrokenPipeError:
            break
    return bytes(rest)


def _unread(folder: Path, timeout: float) -> Conflict:
    return Conflict(
        f"the session in {folder} has not read its input for {timeout:g} s",
        "See what it is doing with `wl look`; its input is kept in order until it reads.",
    )


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder / "stdin.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
