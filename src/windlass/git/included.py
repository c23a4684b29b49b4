# ruff: noqa: PTH102, PTH115, PTH118, PTH120, PTH211
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Brings ignored files along into a new workspace."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Sequence

from windlass.git import open_flags, workspace_state
from windlass.git.repository import Repository
from windlass.git.runner import Dirs, run, user_path


def include(repo: Repository, path: str, patterns: Sequence[str]) -> list[str]:
    """Copies what git ignores *and* one of the patterns matches from the main checkout.

    Nothing is overwritten, links stay links, and nothing is written through a linked folder.
    """
    if not patterns:
        return []
    wanted = _wanted(repo, patterns)
    return [os.fsdecode(name) for name in wanted if _copy(name, source=repo.root, target=path)]


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
    matching = [f"--exclude={pattern}" for pattern in patterns]
    listed = run(["ls-files", "-z", "-o", "-i", *matching], dirs=dirs).out
    if not listed:
        return []
    ignored = run(
        ["check-ignore", "-z", "--stdin"],
        dirs=dirs,
        stdin=listed,
        config=user_excludes(repo),
        ok=(0, 1),
    ).out
    return sorted(name for name in ignored.split(b"\0") if name and not name.endswith(b"/"))


def _copy(name: bytes, *, source: str, target: str) -> bool:
    origin = os.path.join(os.fsencode(source), name)
    copy = os.path.join(os.fsencode(target), name)
    if os.path.lexists(copy) or not _make_folders(os.fsencode(target), os.path.dirname(name)):
        return False
    info = os.lstat(origin)
    if stat.S_ISLNK(info.st_mode):
        os.symlink(os.readlink(origin), copy)
        return True
    if not stat.S_ISREG(info.st_mode):
        return False
    with (
        os.fdopen(os.open(origin, open_flags.PLAIN), "rb") as old,
        os.fdopen(os.open(copy, open_flags.NEW, 0o600), "wb") as new,
    ):
        shutil.copyfileobj(old, new, 1 << 20)
        os.fchmod(new.fileno(), stat.S_IMODE(info.st_mode))
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
