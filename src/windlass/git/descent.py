"""Opens folders below a folder, each by its name in the one above, and none of them through a link.

So nobody leads us elsewhere who exchanges a folder for a link meanwhile. A path may be longer than
the system takes at once: what is one below the other has no end.
"""

from __future__ import annotations

import contextlib
import contextvars
import errno
import os
import stat
import time
from typing import TYPE_CHECKING, Self, TypeAlias

from windlass.git import open_flags

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Name: TypeAlias = str | bytes
LEASES = 2.0
"""Seconds that the files of one descent are waited for together, where processes hold leases."""
_PAUSE = 0.02
_NEAR = 16
"""Folders that stay open, the last one and those right above it."""
_APART = 64
_FURTHEST = 2048
"""Above them, one of so many stays open, down to a depth that no path of the system exceeds."""
LEASED = "another process holds a lease on it"
_EXCHANGED = {
    errno.ENOENT,
    errno.ENOTDIR,
    errno.ELOOP,
    errno.EISDIR,
    errno.ENOTEMPTY,
    errno.EINVAL,
}


class Descent:
    """The folder that was opened last, from where the next one is mostly a step away.

    The nearest folders above it stay open, and some of those further up: who has a long way down
    and many folders at its end does not go all of it again for each of them.
    """

    def __init__(self, top: int) -> None:
        """`top` is an open folder, which stays its owner's."""
        self._path: list[Name] = []
        self._opened = {0: os.dup(top)}
        """By how many names they are below the top, in that order; the last is where we are."""
        self._patience = LEASES

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self._opened:
            os.close(self._opened.popitem()[1])

    def open(self, path: Sequence[Name], *, make: bool = False) -> int:
        """Opens the folder at these names below the top; it stays open until the next is opened.

        With `make`, what is missing on the way is made.
        """
        wanted = list(path)
        self._go_up(wanted)
        here = self._opened[len(self._path)]
        for name in wanted[len(self._path) :]:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, dir_fd=here)
            here = opened_folder(name, here)
            self._path.append(name)
            self._opened[len(self._path)] = here
            self._let_go(len(self._path) - _NEAR)
        return here

    def holder(self, path: bytes) -> tuple[int, bytes]:
        """Opens the folder of what is at a path, and says what it is called there."""
        *folders, name = path.split(b"/")
        return self.open(folders), name

    def file(self, path: Sequence[Name]) -> int:
        """Opens the plain file at these names, also if it was closed to us; the caller closes it.

        Raises BlockingIOError where a process has a lease on it (fcntl) and does not give it up.
        """
        *folders, name = path
        folder = self.open(folders)
        while True:
            try:
                return opened_file(name, folder)
            except BlockingIOError:
                # Our try has the kernel ask for the lease back, which nobody tells us of.
                if self._patience <= 0:
                    raise
                self._patience -= _PAUSE
                time.sleep(_PAUSE)

    def _go_up(self, wanted: list[Name]) -> None:
        """Goes back to the lowest open folder that is on the way to another."""
        while True:
            lowest = next(reversed(self._opened))
            del self._path[lowest:]
            if self._path == wanted[:lowest]:
                return
            os.close(self._opened.pop(lowest))

    def _let_go(self, depth: int) -> None:
        """Closes a folder that is no longer near, unless it is one of those to come back to."""
        if depth in self._opened and (depth % _APART or depth > _FURTHEST):
            os.close(self._opened.pop(depth))


def is_exchanged(error: OSError) -> bool:
    """Whether a name means something else than a moment ago: it is gone, a link, no link."""
    return error.errno in _EXCHANGED


def opened_folder(name: Name, folder: int) -> int:
    """Opens a folder in another one, also if it was closed to us; the caller closes it."""
    try:
        handle = os.open(name, open_flags.FOLDER, dir_fd=folder)
    except PermissionError:
        unlock(name, folder=folder)
        return os.open(name, open_flags.FOLDER, dir_fd=folder)
    # One that may be listed and not entered hides what its names are.
    if not os.access(".", os.X_OK, dir_fd=handle):
        unlock(name, folder=folder)
    return handle


def opened_file(name: Name, folder: int) -> int:
    """Opens a plain file in a folder, also if it was closed to us; the caller closes it."""
    try:
        handle = os.open(name, open_flags.PLAIN, dir_fd=folder)
    except PermissionError:
        unlock(name, folder=folder)
        handle = os.open(name, open_flags.PLAIN, dir_fd=folder)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise FileNotFoundError(errno.ENOENT, "it is no plain file any more")


def unlock(name: Name, *, folder: int) -> None:
    """Gives the owner back the rights to read (and enter) what an agent closed, where allowed.

    By what is open, not by its name, which may mean something else a moment later.
    """
    with contextlib.suppress(OSError):
        handle = os.open(name, open_flags.NAMED, dir_fd=folder)
        try:
            mode = os.fstat(handle).st_mode
            wanted = 0o700 if stat.S_ISDIR(mode) else 0o600 if stat.S_ISREG(mode) else 0
            if wanted & ~mode:
                _note(os.fstat(handle))
                _change_mode(handle, stat.S_IMODE(mode) | wanted)
        finally:
            os.close(handle)


_Modes: TypeAlias = dict[tuple[int, int], int]
_opened: contextvars.ContextVar[_Modes | None] = contextvars.ContextVar("opened", default=None)


@contextlib.contextmanager
def remembering() -> Iterator[None]:
    """Has what is opened to us meanwhile be known by the permissions that it had."""
    token = _opened.set({})
    try:
        yield
    finally:
        _opened.reset(token)


def opened_before() -> _Modes:
    """What was opened to us since it is remembered, with the permissions that it had."""
    return _opened.get() or {}


def permissions(info: os.stat_result, known: _Modes) -> int:
    """The permissions of something, as they were before it was opened to us."""
    mode = stat.S_IMODE(info.st_mode)
    return known.get((info.st_dev, info.st_ino), mode) if known else mode


def _note(info: os.stat_result) -> None:
    known = _opened.get()
    if known is not None:
        known.setdefault((info.st_dev, info.st_ino), stat.S_IMODE(info.st_mode))


@contextlib.contextmanager
def opened_up(name: Name, *, folder: int) -> Iterator[None]:
    """Has a folder be its owner's to write meanwhile: one that is moved needs that, too."""
    handle = os.open(name, open_flags.NAMED, dir_fd=folder)
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            _change_mode(handle, stat.S_IMODE(mode) | 0o700)
        yield
        if stat.S_ISDIR(mode):
            _change_mode(handle, stat.S_IMODE(mode))
    finally:
        os.close(handle)


def _change_mode(handle: int, mode: int) -> None:
    # What is open by its name alone takes no fchmod, only a path that leads to it.
    opened = f"/proc/self/fd/{handle}" if hasattr(os, "O_PATH") else handle
    os.chmod(opened, mode)  # noqa: PTH101
