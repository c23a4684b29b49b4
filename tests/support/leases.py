"""A file that somebody holds by a lease, so that whoever opens it has to wait."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def leased(path: Path) -> Iterator[None]:
    """Holds a lease; in the main thread, because the kernel signals whoever is to give it up."""
    with _held(path, signal.SIG_IGN):
        yield


@contextmanager
def leased_until_asked(path: Path) -> Iterator[None]:
    """Holds a lease, and gives it up as soon as the kernel asks for it."""

    def give_up(*_: object) -> None:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)

    with _held(path, give_up) as descriptor:
        yield


@contextmanager
def _held(path: Path, when_asked: Callable[..., None] | signal.Handlers) -> Iterator[int]:
    before = signal.signal(signal.SIGIO, when_asked)
    descriptor = os.open(path, os.O_RDWR)
    try:
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        yield descriptor
    finally:
        os.close(descriptor)
        signal.signal(signal.SIGIO, before)
