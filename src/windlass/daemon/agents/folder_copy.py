"""Copies a folder that an agent wrote: folder by open folder, following no link, however deep."""

from __future__ import annotations

import contextlib
import os
import stat

from windlass.git import gitfiles, holes, open_flags, walk
from windlass.git.descent import Descent, Name, opened_file


def copy(source: str, target: str) -> list[str]:
    """Copies files, folders and links to `target`, which is new; gives what could not be read.

    Pipes and sockets are left out: they are of no use without who made them. Holes stay holes.
    """
    left: list[str] = []
    closed: list[tuple[tuple[Name, ...], int]] = []
    os.mkdir(target, 0o700)  # noqa: PTH102 - as all else here
    with contextlib.ExitStack() as stack:
        old = stack.enter_context(_descent(stack, source))
        new = stack.enter_context(_descent(stack, target))
        pending: list[tuple[Name, ...]] = [()]
        while pending:
            path = pending.pop()
            here, there = old.open(path), new.open(path, make=True)
            for name, info in walk.listed(here):
                if stat.S_ISDIR(info.st_mode):
                    pending.append((*path, name))
                    closed.append(((*path, name), stat.S_IMODE(info.st_mode)))
                elif not _copy(name, here, there, info):
                    left.append(os.fsdecode(b"/".join(map(os.fsencode, (*path, name)))))
        # Last: nothing could be written into them any more.
        for path, mode in reversed(closed):
            os.fchmod(new.open(path), mode & 0o777)
    return left


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
