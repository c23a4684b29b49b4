# ruff: noqa: PTH108, PTH118
# Reason: as in `included`, whose way of copying this is.
"""Brings uncommitted files of the person's checkout along into a new workspace."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from windlass.git import gitfiles, included, workspace_state
from windlass.git.included import Included


def carry(checkout: str, path: str, names: Sequence[str]) -> Included:
    """Has the files of those names be in a workspace what they are in a checkout: absent as well.

    The workspace is at the commit that the checkout is at. Doing it again changes nothing.
    """
    found = Included([], [])
    with gitfiles.opened(os.path.realpath(checkout)) as top:
        for name in sorted(map(os.fsencode, names)):
            done = _carry(top, name, path)
            (found.copied if done else found.left_out).append(os.fsdecode(name))
    return found


def _carry(top: int, name: bytes, path: str) -> bool:
    into = os.path.join(os.fsencode(path), name)
    if not included.is_free_way(name, target=path):
        return False
    if os.path.lexists(into) and not workspace_state.is_folder(os.fsdecode(into)):
        os.unlink(into)
    if _is_gone(top, name):
        return True
    return not os.path.lexists(into) and included.copy(top, name, into=into)


def _is_gone(top: int, name: bytes) -> bool:
    """Whether there is nothing, or a folder now, whose files have names of their own."""
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True
