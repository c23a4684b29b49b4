# ruff: noqa: PTH102, PTH117, PTH118, PTH119, PTH120, PTH211
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Brings ignored files of the person's checkout along into a new workspace, and nothing else of it.

A repository names them by patterns, which are anybody's: no pattern leads to what lies outside of
the checkout, to a git folder in it, or to more than a workspace is meant to begin with.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from typing import NamedTuple

from windlass.core.errors import ConfigError
from windlass.git import gitfiles, long_lists, open_flags, workspace_state
from windlass.git.environment import Dirs
from windlass.git.person_git import user_path
from windlass.git.repository import Repository
from windlass.git.runner import run

MOST_FILES = 200_000
MOST_BYTES = 4 << 30
_CHUNK = 1 << 20


class Included(NamedTuple):
    """What was copied, and what was left out: links that lead elsewhere, and what is closed."""

    copied: list[str]
    left_out: list[str]


def include(repo: Repository, path: str, patterns: Sequence[str]) -> Included:
    """Copies what git ignores *and* one of the patterns matches from the main checkout.

    Nothing is overwritten and nothing is written through a linked folder. Links stay links if they
    lead to something beside them. Refuses what is more than a workspace may begin with.
    """
    found = Included([], [])
    if not patterns:
        return found
    with gitfiles.opened(os.path.realpath(repo.root)) as top:
        wanted = _wanted(repo, patterns)
        _refuse_much(top, wanted)
        for name in wanted:
            if not _has_room(name, target=path):
                continue
            done = copy(top, name, into=os.path.join(os.fsencode(path), name))
            (found.copied if done else found.left_out).append(os.fsdecode(name))
    return found


def _refuse_much(top: int, wanted: Sequence[bytes]) -> None:
    size = 0
    for name in wanted:
        try:
            size += os.stat(name, dir_fd=top, follow_symlinks=False).st_size
        except OSError:
            continue  # it is gone again, or closed to us
    if len(wanted) > MOST_FILES or size > MOST_BYTES:
        raise ConfigError(
            f"workspace.include names {len(wanted)} files of your checkout with {size >> 20} MiB"
            f" together; {MOST_FILES} files and {MOST_BYTES >> 20} MiB are the most",
            "name less there or in .worktreeinclude, and have workspace.setup make the rest",
        )


def user_excludes(repo: Repository) -> dict[str, str]:
    """Names the user's own ignore file, which lies outside the repository and is their wish."""
    chosen = user_path("core.excludesFile", cwd=repo.root)
    if chosen is None:
        home = os.environ.get("XDG_CONFIG_HOME") or os.path.join(
            os.environ.get("HOME", "/nonexistent"), ".config"
        )
        chosen = os.path.join(home, "git", "ignore")
    return {"core.excludesFile": chosen}


def _wanted(repo: Repository, patterns: Sequence[str]) -> list[bytes]:
    dirs = Dirs(git_dir=repo.git_dir, work_tree=repo.root)
    # No name has a NUL in it, and no word of a command can have one.
    matching = [f"--exclude={pattern}" for pattern in patterns if "\0" not in pattern]
    listed = run(["ls-files", "-z", "-o", "-i", *matching], dirs=dirs).out if matching else b""
    if not listed:
        return []
    ignored = run(
        ["check-ignore", "-z", "--stdin"],
        dirs=dirs,
        stdin=listed,
        config=user_excludes(repo),
        ok=(0, 1),
    ).out
    names = (name for name in long_lists.records(ignored) if name and not name.endswith(b"/"))
    return sorted(name for name in names if not _is_of_git(name))


def _is_of_git(name: bytes) -> bool:
    """Says whether it lies in a git folder, also where names are compared without case."""
    return b".git" in name.lower().split(b"/")


def _has_room(name: bytes, *, target: str) -> bool:
    """Makes the folders for a copy; says no where something is there or in the way."""
    there = os.path.join(os.fsencode(target), name)
    return not os.path.lexists(there) and is_free_way(name, target=target)


def is_free_way(name: bytes, *, target: str) -> bool:
    """Makes the folders for a copy; says no where a link or a file is in the way."""
    return _make_folders(os.fsencode(target), os.path.dirname(name))


def copy(top: int, name: bytes, *, into: bytes) -> bool:
    """Copies a file of the checkout; says no where that is not what it was, or is closed to us."""
    try:
        with gitfiles.opened(os.fsdecode(os.path.dirname(name)), top=top) as folder:
            file = os.path.basename(name)
            if stat.S_ISLNK(os.stat(file, dir_fd=folder, follow_symlinks=False).st_mode):
                return _copy_link(name, os.readlink(file, dir_fd=folder), into=into)
            handle = os.open(file, open_flags.PLAIN, dir_fd=folder)
    except OSError:
        return False
    with os.fdopen(handle, "rb") as old:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            return False
        with os.fdopen(os.open(into, open_flags.NEW, 0o600), "wb") as new:
            left = info.st_size  # somebody may go on writing to it
            while left > 0 and (chunk := old.read(min(left, _CHUNK))):
                new.write(chunk)
                left -= len(chunk)
            os.fchmod(new.fileno(), stat.S_IMODE(info.st_mode))
    return True


def _copy_link(name: bytes, leads_to: bytes, *, into: bytes) -> bool:
    """Makes the same link, if it leads to something in the same tree."""
    inside = os.path.normpath(os.path.join(os.path.dirname(name), leads_to))
    if os.path.isabs(leads_to) or inside.split(b"/")[0] == b".." or _is_of_git(inside):
        return False
    os.symlink(leads_to, into)
    return True


def _make_folders(top: bytes, folder: bytes) -> bool:
    """Makes the folders on the way; says no when one of them is a link or a file."""
    here = top
    for name in filter(None, folder.split(b"/")):
        here = os.path.join(here, name)
        if not os.path.lexists(here):
            os.mkdir(here)
        elif not workspace_state.is_folder(os.fsdecode(here)):
            return False
    return True
