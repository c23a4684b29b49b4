"""Whether somebody is just writing a file: an editor that empties it first and fills it then.

The kernel knows: it grants a lease for reading only on what nobody has open for writing. Where it
grants none at all (a network's file system, somebody else's file), only an empty file tells.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import time

_POLL = 0.005
_PATIENCE = 2.0
"""How many seconds a writer is waited for; some file systems always say that there is one."""
_EMPTY_PATIENCE = 0.5
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def wait(path: str) -> bool:
    """Waits until nobody writes a file, and it holds something; says whether that took time."""
    return _wait(path, empty=_EMPTY_PATIENCE)


def wait_closed(path: str) -> None:
    """Waits until nobody has a file open to write it."""
    _wait(path, empty=0.0)


def _wait(path: str, *, empty: float) -> bool:
    began = time.monotonic()
    waited = False
    while time.monotonic() - began < _patience(path, empty):
        waited = True
        time.sleep(_POLL)
    return waited


def _patience(path: str, empty: float) -> float:
    """How long a file is waited for, as it is now."""
    try:
        descriptor = os.open(path, _READ)
    except OSError:  # whoever reads it says what is wrong with it
        return 0.0
    try:
        if _is_written(descriptor):
            return _PATIENCE
        return 0.0 if os.fstat(descriptor).st_size else empty
    finally:
        os.close(descriptor)


def _is_written(descriptor: int) -> bool:
    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        # who opens it in this very moment waits, and we get a signal: by default one that kills
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    return False
