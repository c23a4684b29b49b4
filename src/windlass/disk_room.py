"""Whether a disk takes nothing: full or read-only. Programs that fail by it do not always say so.

Below every layer, because all of them write and may not import each other: standard library only,
nothing of ours. Git says of a file only that it could not be written, and an import that dies may
say nothing, because its own words found no room either.
"""

from __future__ import annotations

import errno
import os
import shutil

HINT = "free some disk space and try again"
HINT_CLOSED = "make it writable for you and try again"
LITTLE = 16 << 20
"""Whoever fails on a disk with less room than this is taken to have failed because of it."""


def is_lacking(error: BaseException) -> bool:
    """Whether the system refused something because a disk or a quota is full."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def hint(error: BaseException) -> str:
    """What to do about a disk or a folder that took nothing; "" where that was not the reason."""
    if is_lacking(error):
        return HINT
    closed = isinstance(error, OSError) and error.errno in (errno.EROFS, errno.EACCES, errno.EPERM)
    return HINT_CLOSED if closed else ""


def free(folder: str | os.PathLike[str]) -> int | None:
    """Returns how many bytes a folder's disk has left; None where that is not known.

    A file system that says it has no size at all, as some do, has not said how full it is.
    """
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None  # the folder is not there
    return usage.free if usage.total else None


def full(*folders: str | os.PathLike[str] | None) -> str:
    """Names the first of these folders that lies on a disk with next to no room; "" if none."""
    for folder in folders:
        left = None if folder is None else free(folder)
        if folder is not None and left is not None and left < LITTLE:
            return os.fspath(folder)
    return ""
