"""Whether a disk is full: programs that fail because of it do not always say so.

Below every layer, because all of them write and may not import each other: standard library only,
nothing of ours. Git says of a file only that it could not be written, and an import that dies may
say nothing, because its own words found no room either.
"""

from __future__ import annotations

import errno
import os
import shutil

HINT = "free some disk space and try again"
LITTLE = 16 << 20
"""Whoever fails on a disk with less room than this is taken to have failed because of it."""


def is_lacking(error: BaseException) -> bool:
    """Whether the system refused something because a disk or a quota is full."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


def full(*folders: str | os.PathLike[str] | None) -> str:
    """Names the first of these folders that lies on a disk with next to no room; "" if none."""
    for folder in folders:
        if folder is None:
            continue
        try:
            free = shutil.disk_usage(folder).free
        except OSError:
            continue  # it is not there: nothing can be said of it
        if free < LITTLE:
            return os.fspath(folder)
    return ""
