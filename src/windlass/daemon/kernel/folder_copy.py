"""Copies folders that agents wrote: folder by open folder, following no link, however deep.

Neither where it is read, nor where it is written: what was copied before is an agent's as well.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Sequence
from typing import NamedTuple

from windlass.git import erasure, gitfiles, holes, open_flags, walk
from windlass.git.descent import Descent, Name, is_exchanged, opened_file

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
    os.mkdir(target, 0o700)  # noqa: PTH102 - as all else here
    return copy_together([source], target)


def copy_together(sources: Sequence[str], target: str) -> list[str]:
    """Copies folders over each other to `target`, which is there and empty; the last is on top.

    What is a folder in two of them holds what both have; whatever else is in the place of something
    below takes that away. Gives what could not be copied, as `copy` does.
    """
    left = _Left()
    folders: list[_Folder] = []
    with contextlib.ExitStack() as stack:
        new = stack.enter_context(_descent(stack, target))
        for number, source in enumerate(sources):
            old = stack.enter_context(_descent(stack, source))
            folders += _copy_over(old, new, left, may_be_there=number > 0)
        _close(new, folders)
    return left.told()


def _copy_over(old: Descent, new: Descent, left: _Left, *, may_be_there: bool) -> list[_Folder]:
    """Copies one folder over what is there; gives the folders in it, those above others first."""
    folders: list[_Folder] = []
    pending = [_Folder(None, b"", 0, 0o700)]
    while pending:
        folder = pending.pop()
        path = folder.path()
        here, there = old.open(path), new.open(path, make=True)
        for name, info in walk.listed(here):
            is_folder = stat.S_ISDIR(info.st_mode)
            if is_folder and folder.depth >= _DEEPEST:
                left.add(folder, name)
                continue
            if may_be_there:
                _make_room(name, there, is_folder=is_folder)
            if is_folder:
                mode = stat.S_IMODE(info.st_mode)
                pending.append(_Folder(folder, name, folder.depth + 1, mode))
                folders.append(pending[-1])
            elif not _copy(name, here, there, info):
                left.add(folder, name)
    return folders


def _make_room(name: bytes, there: int, *, is_folder: bool) -> None:
    """Takes away what lies in the place of something; a folder stays for a folder."""
    try:
        mode = os.stat(name, dir_fd=there, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    if not (is_folder and stat.S_ISDIR(mode)):
        erasure.erase_in(there, name)


def _close(new: Descent, folders: list[_Folder]) -> None:
    """Gives folders their permissions: last, since nothing could be written into them any more.

    The deepest first, and of several at one place the one on top alone.
    """
    done: set[tuple[int, int]] = set()
    on_top_first = folders[::-1]
    for folder in sorted(on_top_first, key=lambda folder: -folder.depth):
        try:
            here = new.open(folder.path())
        except OSError as error:
            if not is_exchanged(error):
                raise
            continue  # something else is in its place, on top of it
        info = os.fstat(here)
        if (info.st_dev, info.st_ino) not in done:
            done.add((info.st_dev, info.st_ino))
            os.fchmod(here, folder.mode & 0o777)


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
