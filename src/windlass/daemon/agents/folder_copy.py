"""Copies a folder that an agent wrote: folder by open folder, following no link, however deep."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import NamedTuple

from windlass.git import gitfiles, holes, open_flags, walk
from windlass.git.descent import Descent, Name, opened_file

_DEEPEST = 2048
"""Folders in each other that are copied: no path of the system names more."""
_NAMED = 20
"""How many of what could not be copied are told by name: whoever made it chose how many there are,
and how long their names."""


class _Folder(NamedTuple):
    """A folder by the one above: by whole paths, those of deep ones together fill any memory."""

    above: _Folder | None
    name: Name
    depth: int
    mode: int

    def path(self) -> list[Name]:
        """The names from the top down to it."""
        names: list[Name] = []
        here = self
        while here.above is not None:
            names.append(here.name)
            here = here.above
        return names[::-1]


class _Left:
    """What could not be copied: some by their names, and how many more."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._more = 0

    def add(self, folder: _Folder, name: Name) -> None:
        """Notes one thing in a folder."""
        if len(self._names) < _NAMED:
            self._names.append(os.fsdecode(b"/".join(map(os.fsencode, (*folder.path(), name)))))
        else:
            self._more += 1

    def told(self) -> list[str]:
        """As a person reads it."""
        return [*self._names, *([f"what {self._more} more names have"] if self._more else [])]


def copy(source: str, target: str) -> list[str]:
    """Copies files, folders and links to `target`, which is new; gives what could not be.

    That is what cannot be read, and what lies deeper than any path. Pipes and sockets are left out:
    they are of no use without who made them. Holes stay holes.
    """
    left = _Left()
    closed: list[_Folder] = []
    os.mkdir(target, 0o700)  # noqa: PTH102 - as all else here
    with contextlib.ExitStack() as stack:
        old = stack.enter_context(_descent(stack, source))
        new = stack.enter_context(_descent(stack, target))
        pending = [_Folder(None, b"", 0, 0o700)]
        while pending:
            folder = pending.pop()
            path = folder.path()
            here, there = old.open(path), new.open(path, make=True)
            for name, info in walk.listed(here):
                if not stat.S_ISDIR(info.st_mode):
                    if not _copy(name, here, there, info):
                        left.add(folder, name)
                elif folder.depth < _DEEPEST:
                    mode = stat.S_IMODE(info.st_mode)
                    pending.append(_Folder(folder, name, folder.depth + 1, mode))
                    closed.append(pending[-1])
                else:
                    left.add(folder, name)
        # Last: nothing could be written into them any more.
        for folder in reversed(closed):
            os.fchmod(new.open(folder.path()), folder.mode & 0o777)
    return left.told()


def _descent(stack: contextlib.ExitStack, folder: str) -> Descent:
    return Descent(stack.enter_context(gitfiles.opened(os.path.realpath(folder))))


def _copy(name: bytes, here: int, there: int, info: os.stat_result) -> bool:
    """Copies one thing; says no where it is there and cannot be read."""
    if stat.S_ISLNK(info.st_mode):
        os.symlink(os.readlink(name, dir_fd=here), name, dir_fd=there)
        return True
    if not stat.S_ISREG(info.st_mode):
        return True
    try:
        handle = opened_file(name, here)
    except OSError:
        return False
    with (
        os.fdopen(handle, "rb") as file,
        os.fdopen(os.open(name, open_flags.NEW, 0o600, dir_fd=there), "wb") as copied,
    ):
        holes.copy(file.fileno(), copied.fileno())
        os.fchmod(copied.fileno(), stat.S_IMODE(info.st_mode) & 0o777)
        os.utime(copied.fileno(), ns=(info.st_atime_ns, info.st_mtime_ns))
    return True
