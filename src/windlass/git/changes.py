# ruff: noqa: PTH102, PTH103, PTH118, PTH120
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Everything an agent did since a commit, committed or not, shown without touching its index."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

import msgspec

from windlass.git import beneath, mirror, views, workspace_state
from windlass.git.blobs import Blobs, kinds
from windlass.git.repository import require
from windlass.git.runner import Dirs, Patience, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from windlass.git.repository import Repository
    from windlass.git.runner import ReadBox
    from windlass.git.views import View
    from windlass.git.workspace_state import WorkspacePlace


_PLAIN = ("--no-ext-diff", "--no-textconv", "--ignore-submodules=none")


def diff(
    repo: Repository,
    path: str,
    base: str,
    *,
    stat: bool,
    color: bool,
    otherwise: str | None = None,
    box: ReadBox | None = None,
) -> bytes:
    """Gives the whole difference between `base` and the workspace: what a person wants to read.

    Of a workspace that is gone without a trace the commit `otherwise` is all that is known. A clone
    is read through `box`, where there is one.
    """
    since = require(repo, base)
    shape = ["--stat"] if stat else ["--patch"]
    paint = "--color=always" if color else "--color=never"
    with _compared(repo, path, since=since, otherwise=otherwise, box=box) as (dirs, tree):
        words = ["diff-tree", "-r", "-M", *_PLAIN, *shape, paint, since, tree, "--"]
        return run(words, dirs=dirs, timeout=Patience().left).out


def changed(repo: Repository, path: str, base: str, *, box: ReadBox | None = None) -> list[str]:
    """Lists the files that differ between `base` and the workspace."""
    since = require(repo, base)
    with _compared(repo, path, since=since, box=box) as (dirs, tree):
        words = ["diff-tree", "-r", "--no-renames", "--name-only", "-z", since, tree]
        said = run(words, dirs=dirs)
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
    repo: Repository,
    path: str,
    base: str,
    into: str,
    *,
    otherwise: str | None = None,
    box: ReadBox | None = None,
) -> None:
    """Writes the changed files as two plain folders, `into/before` and `into/after`."""
    since = require(repo, base)
    before, after = (os.path.join(into, side) for side in ("before", "after"))
    os.makedirs(before)
    os.makedirs(after)
    with _compared(repo, path, since=since, otherwise=otherwise, box=box) as (dirs, tree):
        words = ["diff-tree", "-r", "--no-renames", "--raw", "-z", since, tree, "--"]
        said = run(words, dirs=dirs, timeout=Patience().left)
        fields = said.out.split(b"\0")
        with Blobs(dirs) as blobs:
            for about, name in zip(fields[::2], fields[1::2], strict=False):
                old_mode, new_mode, old, new, _ = about.lstrip(b":").split(b" ")
                _write(blobs, before, name, mode=old_mode, oid=old)
                _write(blobs, after, name, mode=new_mode, oid=new)


def _write(blobs: Blobs, top: str, name: bytes, *, mode: bytes, oid: bytes) -> None:
    kind = int(mode, 8)
    if not (stat.S_ISREG(kind) or stat.S_ISLNK(kind)):
        return
    with beneath.new_file(top, name) as file:
        blobs.copy(oid.decode(), file)
        # The text of a link as a file: a diff tool would follow it out of the two folders.
        os.fchmod(file.fileno(), 0o644 if stat.S_ISLNK(kind) else stat.S_IMODE(kind))


@contextlib.contextmanager
def _compared(
    repo: Repository,
    path: str,
    *,
    since: str,
    otherwise: str | None = None,
    box: ReadBox | None = None,
) -> Iterator[tuple[Dirs, str]]:
    """Lends a tree of the workspace as it is now, and folders that show it; both are gone after it.

    Of a clone these show what its agent sees: agents read the answers too, and may name any object.
    """
    place = workspace_state.locate(repo, path, box=box)
    if otherwise and place.git_dir is None and not workspace_state.is_folder(place.path):
        yield repo.dirs, require(repo, otherwise)
        return
    with contextlib.ExitStack() as stack:
        if place.lender is not None and workspace_state.narrows(place):
            origin = os.path.dirname(place.lender)
            if since not in kinds(Dirs(git_dir=origin), [since]):
                mirror.refresh(repo, origin, also=(since,))
        if place.box is not None and place.lender is not None:
            dirs = stack.enter_context(views.proven(repo, place, since=since))
        else:
            dirs = _with_new_objects(repo, place, stack.enter_context(views.viewed(repo, place)))
        if workspace_state.is_folder(place.path):
            _stage_all(views.with_excludes(repo, dirs))
        tree = run(["write-tree"], dirs=dirs).out.decode().strip()
        yield msgspec.structs.replace(dirs, work_tree=None, index=None), tree


def _with_new_objects(repo: Repository, place: WorkspacePlace, view: View) -> Dirs:
    """Has git write what it makes of the files into the folder that is lent."""
    seen = view.dirs
    new = os.path.join(seen.git_dir, "objects")
    os.mkdir(new)
    known = () if workspace_state.narrows(place) else (os.path.join(repo.git_dir, "objects"),)
    read = [*map(workspace_state.quoted_alternate, known), *filter(None, (seen.objects,))]
    return msgspec.structs.replace(seen, new_objects=new, objects=":".join(read))


def _stage_all(dirs: Dirs) -> None:
    # Not `add -A`: it stops at a nested repository without commits, and stages unmerged paths as
    # if they were resolved only by luck. Here each path is named, and gitlinks stay as they are.
    listed = run(
        ["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"],
        dirs=dirs,
        timeout=Patience().left,
    ).out
    top = os.fsencode(dirs.work_tree or "")
    names = [name for name in listed.split(b"\0") if name and _is_plain(top, name)]
    run(
        ["update-index", "--add", "--remove", "-z", "--stdin"],
        dirs=dirs,
        stdin=b"\0".join(names) + b"\0" if names else b"",
        timeout=Patience().left,
    )


def _is_plain(top: bytes, name: bytes) -> bool:
    """Leaves out nested repositories, which git would open."""
    try:
        mode = os.lstat(os.path.join(top, name)).st_mode
    except OSError:
        return True
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)
