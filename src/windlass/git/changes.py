# ruff: noqa: PTH102, PTH103, PTH118, PTH120
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Everything an agent did since a commit, committed or not, shown without touching its index."""

from __future__ import annotations

import contextlib
import os
import stat
from functools import partial
from typing import TYPE_CHECKING

from windlass.git import workspace_state
from windlass.git.included import user_excludes
from windlass.git.repository import require
from windlass.git.runner import LONG, Dirs, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from windlass.git.repository import Repository
    from windlass.git.runner import GitResult

    _Git = Callable[..., GitResult]


_PLAIN = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=none")


def diff(
    repo: Repository, path: str, base: str, *, stat: bool, color: bool, otherwise: str | None = None
) -> bytes:
    """Gives the whole difference between `base` and the workspace: what a person wants to read.

    Of a workspace that is gone without a trace the commit `otherwise` is all that is known.
    """
    since = require(repo, base)
    shape = ["--stat"] if stat else ["--patch"]
    paint = "--color=always" if color else "--color=never"
    with _compared(repo, path, otherwise=otherwise) as (git, tree):
        words = ["diff-tree", "-r", "-M", *_PLAIN, *shape, paint, since, tree, "--"]
        return git(words, timeout=LONG).out


def changed(repo: Repository, path: str, base: str) -> list[str]:
    """Lists the files that differ between `base` and the workspace."""
    since = require(repo, base)
    with _compared(repo, path) as (git, tree):
        said = git(["diff-tree", "-r", "--no-renames", "--name-only", "-z", since, tree])
    return [os.fsdecode(name) for name in said.out.split(b"\0") if name]


def touched(repo: Repository, base: str, tip: str) -> list[str]:
    """Lists the files that differ between two commits, by their old and new names alike."""
    said = repo.git(
        "diff-tree",
        *("-r", "--no-renames", "--ignore-submodules=none", "--name-only", "-z"),
        *(require(repo, base), require(repo, tip), "--"),
    )
    return [os.fsdecode(name) for name in said.out.split(b"\0") if name]


def materialise(
    repo: Repository, path: str, base: str, into: str, *, otherwise: str | None = None
) -> None:
    """Writes the changed files as two plain folders, `into/before` and `into/after`."""
    since = require(repo, base)
    with _compared(repo, path, otherwise=otherwise) as (git, tree):
        said = git(["diff-tree", "-r", "--no-renames", "--raw", "-z", since, tree, "--"])
        fields = said.out.split(b"\0")
        for about, name in zip(fields[::2], fields[1::2], strict=False):
            old_mode, new_mode, old, new, _ = about.lstrip(b":").split(b" ")
            _write(git, os.path.join(into, "before"), name, mode=old_mode, oid=old)
            _write(git, os.path.join(into, "after"), name, mode=new_mode, oid=new)
        for side in ("before", "after"):
            os.makedirs(os.path.join(into, side), exist_ok=True)


def _write(git: _Git, top: str, name: bytes, *, mode: bytes, oid: bytes) -> None:
    kind = int(mode, 8)
    if not (stat.S_ISREG(kind) or stat.S_ISLNK(kind)):
        return
    target = os.path.join(os.fsencode(top), name)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    content = git(["cat-file", "blob", oid], timeout=LONG).out
    if stat.S_ISLNK(kind):
        # The link's text as a file: a diff tool would follow a link out of the two folders.
        kind = 0o644
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(target, flags, stat.S_IMODE(kind)), "wb") as file:
        file.write(content)


@contextlib.contextmanager
def _compared(
    repo: Repository, path: str, *, otherwise: str | None = None
) -> Iterator[tuple[_Git, str]]:
    """Lends a tree of the workspace as it is now, and a git that sees it; both live only as long.

    Of a clone it sees what its agent does: agents read these answers too, and may name any object.
    """
    place = workspace_state.locate(repo, path)
    if otherwise and place.git_dir is None and not workspace_state.is_folder(place.path):
        yield partial(run, dirs=repo.dirs), require(repo, otherwise)
        return
    config = user_excludes(repo)
    with workspace_state.viewed(repo, place) as view:
        seen = view.dirs
        objects = os.path.join(seen.git_dir, "objects")
        os.mkdir(objects)
        extra = {"GIT_OBJECT_DIRECTORY": objects}
        known = () if workspace_state.narrows(place) else (os.path.join(repo.git_dir, "objects"),)
        read = [*map(workspace_state.quoted_alternate, known), *filter(None, (seen.objects,))]
        extra["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = ":".join(read)
        if workspace_state.is_folder(place.path):
            _stage_all(seen, extra=extra, config=config)
        tree = run(["write-tree"], dirs=seen, extra=extra).out.decode().strip()
        bare = Dirs(git_dir=seen.git_dir, common_dir=repo.git_dir, config=seen.config)
        yield partial(run, dirs=bare, extra=extra), tree


def _stage_all(dirs: Dirs, *, extra: dict[str, str], config: dict[str, str]) -> None:
    # Not `add -A`: it stops at a nested repository without commits, and stages unmerged paths as
    # if they were resolved only by luck. Here each path is named, and gitlinks stay as they are.
    listed = run(
        ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"],
        dirs=dirs,
        config=config,
        timeout=LONG,
    ).out
    top = os.fsencode(dirs.work_tree or "")
    names = [name for name in listed.split(b"\0") if name and _is_plain(top, name)]
    run(
        ["update-index", "--add", "--remove", "-z", "--stdin"],
        dirs=dirs,
        extra=extra,
        config=config,
        stdin=b"\0".join(names) + b"\0" if names else b"",
        timeout=LONG,
    )


def _is_plain(top: bytes, name: bytes) -> bool:
    """Leaves out nested repositories, which git would open."""
    try:
        mode = os.lstat(os.path.join(top, name)).st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)
