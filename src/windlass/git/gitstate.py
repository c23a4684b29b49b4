# ruff: noqa: PTH118, PTH120
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Writes a workspace's git state into a salvage: index, unfinished work, nested repositories."""

from __future__ import annotations

import contextlib
import os
import stat
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from windlass.core.errors import GitError
from windlass.git import (
    gitfiles,
    long_lists,
    names,
    path_count,
    roots,
    tars,
    views,
    workspace_state,
)
from windlass.git.bounds import LONG, Patience
from windlass.git.environment import Dirs
from windlass.git.manifest import Dropped, Nested, few
from windlass.git.runner import run
from windlass.git.shared_files import SharedNames
from windlass.git.status import nested_place
from windlass.git.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from windlass.git.contents import Tree
    from windlass.git.quarantine import Importer, Quarantine
    from windlass.git.repository import Repository
    from windlass.git.walk import WalkEntry
    from windlass.git.workspace_state import WorkspacePlace

BEYOND = b"beyond.tar"
_GITLINK = b"160000"
_MODES = frozenset((b"100644", b"100755", b"120000", _GITLINK))


def read_tree(dirs: Dirs, commit: str | None) -> Tree:
    """Lists a commit's whole tree; raises `TooManyPaths` for one that is too large."""
    if commit is None:
        return {}
    within = Patience().left if dirs.box else LONG
    listed = path_count.listed(dirs, commit, within=within)
    tree: Tree = {}
    for record in long_lists.records(listed):
        about, _, path = record.partition(b"\t")
        mode, kind, oid = about.split(b" ")
        if kind != b"tree":
            tree[path] = (mode, oid.decode())
    return tree


class IndexEntries(NamedTuple):
    """What an index says, as far as it can be read and its names are names of files."""

    staged: Tree
    stages: dict[str, Tree]
    """What is in conflict, by stage."""
    skipped: list[str]
    """What it is told not to look at."""
    assumed: list[str]
    """What it is told to believe unchanged."""
    dropped: list[Dropped]
    """What of it is in its raw bytes alone, which are kept with the git folder."""
    is_whole: bool = True
    """False where git could not read it."""


def read_index(dirs: Dirs) -> IndexEntries:
    """Lists the index. One that is damaged says nothing, and is no reason to keep nothing."""
    seen = IndexEntries({}, {}, [], [], [])
    try:
        path_count.require_small_index(dirs)
        listed = run(["ls-files", "-s", "-v", "-z"], dirs=dirs, timeout=Patience().left).out
    except GitError as error:
        last = error.message.strip().splitlines()[-1]
        seen.dropped.append(_raw_alone("index", f"it cannot be read ({last.strip(' |')})"))
        return seen._replace(is_whole=False)
    for record in long_lists.records(listed):
        about, _, path = record.partition(b"\t")
        flag, mode, oid, stage = about.split(b" ")
        if not names.is_path(path) or mode not in _MODES:
            shown = os.fsdecode(path)
            seen.dropped.append(_raw_alone(f"index: {shown}", "git makes no such entry"))
            continue
        into = seen.staged if stage == b"0" else seen.stages.setdefault(stage.decode(), {})
        into[path] = (mode, oid.decode())
        if flag in b"Ss":
            seen.skipped.append(os.fsdecode(path))
        if flag.islower():
            seen.assumed.append(os.fsdecode(path))
    return seen


def index_left(place: WorkspacePlace, dirs: Dirs) -> list[Dropped]:
    """Lists an index that is there and was not copied: what it names was not looked at."""
    own = os.path.join(place.git_dir or "", "index")
    if place.git_dir is None or os.path.lexists(os.path.join(dirs.git_dir, "index")):
        return []
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISREG(os.lstat(own).st_mode):
            return [
                _raw_alone("index", "it is leased by another process, or too large to be looked at")
            ]
    return []


def _raw_alone(what: str, why: str) -> Dropped:
    return Dropped(path=f".git/{what}", reason=f"{why}; kept as raw bytes", files=0)


def keep_index(
    importer: Importer,
    inside: Quarantine,
    *,
    start: str | None,
    before: Tree,
    staged: Tree,
    stages: dict[str, Tree],
    came: set[str] | None,
) -> bool:
    """Keeps alive what is staged; says whether that differs from HEAD.

    Of a clone that is what `came` home, whatever else its index names. The index
    file itself is in `gitdir.tar`. Entries whose objects never existed (a path that is
    only meant to be added) need nothing here.
    """
    for stage, tree in stages.items():
        present = _present(inside, tree, came)
        for path, (mode, oid) in tree.items():
            if mode == _GITLINK or oid in present:
                importer.place(b"stages/" + stage.encode() + b"/" + path, mode=mode, what=oid)
    if staged == before:
        return bool(stages)
    if start is not None and before:
        importer.place(b"index", mode=b"040000", what=start)
    for path in before:
        if path not in staged:
            importer.take_away(b"index/" + path)
    new = {path: is_ for path, is_ in staged.items() if before.get(path) != is_}
    present = _present(inside, new, came)
    for path, (mode, oid) in new.items():
        if mode == _GITLINK or oid in present:
            importer.place(b"index/" + path, mode=mode, what=oid)
    return True


def _present(inside: Quarantine, tree: Tree, came: set[str] | None) -> set[str]:
    """Those of its files that are there; an index can call anything a file."""
    kinds = inside.known(oid for _, oid in tree.values() if came is None or oid in came)
    return {oid for oid, kind in kinds.items() if kind == "blob"}


def keep_state(importer: Importer, place: WorkspacePlace, names: SharedNames) -> list[Dropped]:
    """Keeps the workspace's own git folder; a clone's objects come home another way."""
    if place.git_dir is None:
        return []
    bulky = ("objects",) if place.kind == "clone" else ()
    return _keep_tar(
        importer,
        place.git_dir,
        b"gitdir.tar",
        called=".git",
        names=names,
        keep=lambda name: name.split("/")[0] not in bulky and not name.endswith(".lock"),
    )


def keep_raw_objects(importer: Importer, place: WorkspacePlace, *, why: str) -> list[Dropped]:
    """Keeps a clone's objects as the files that they are: they could not come as objects."""
    objects = os.path.join(place.git_dir or "", "objects")
    size = sum(entry.info.st_size for entry in walk(objects) if entry.kind == "file")
    left = _keep_tar(importer, objects, b"objects.tar", called=".git/objects", names=SharedNames())
    reason = f"{why}; kept as raw bytes in objects.tar"
    return [Dropped(path=".git/objects", reason=reason, size=size, files=0), *left]


def keep_beyond(
    importer: Importer, place: WorkspacePlace, paths: list[bytes], names: SharedNames
) -> list[Dropped]:
    """Keeps what cannot be in a tree: files, and folders with all that is in them."""
    if not paths:
        return []
    only = [os.fsdecode(path) for path in paths]
    return _keep_tar(importer, place.path, BEYOND, called="", names=names, only=only)


def keep_nested(
    importer: Importer,
    repo: Repository,
    *,
    place: WorkspacePlace,
    entry: WalkEntry,
    number: int,
    names: SharedNames,
) -> tuple[Nested, list[Dropped]]:
    """Keeps a nested repository's `.git`, and what it points to where that is ours."""
    shown = os.fsdecode(entry.path)
    path = os.path.join(place.path, shown)
    tar = f"nested/{number}.tar"
    left = _keep_tar(importer, path, tar.encode(), called=shown, names=names)
    nested = Nested(path=shown, tar=tar)
    if not stat.S_ISREG(entry.info.st_mode):
        return nested, left
    inner = nested_place(repo, place, os.path.dirname(entry.path))
    replaced = partial(msgspec.structs.replace, nested)
    if inner is None or inner.git_dir is None:
        return replaced(target="elsewhere", target_path=place.named(_pointed(path))), left
    if place.git_dir is not None and _inside(inner.git_dir, place.git_dir):
        relative = os.path.relpath(inner.git_dir, place.git_dir)
        return replaced(target="admin", target_path=relative), left
    if _inside(inner.git_dir, place.path):
        return replaced(target="elsewhere", target_path=place.named(inner.git_dir)), left
    target_tar = f"nested/{number}.git.tar"
    left += _keep_tar(
        importer,
        inner.git_dir,
        target_tar.encode(),
        called=inner.git_dir,
        names=names,
        keep=lambda name: not name.endswith(".lock"),
    )
    return replaced(
        target="worktree" if inner.kind == "worktree" else "module",
        target_path=inner.git_dir,
        target_tar=target_tar,
        head=workspace_state.head_of(repo, inner)[1] or "",
    ), left


def named_by_nested(
    repo: Repository, *, place: WorkspacePlace, entry: WalkEntry, into: roots.Mentioned
) -> None:
    """Gathers the ids that a nested repository's own files mention: it may borrow our objects."""
    inner = nested_place(repo, place, os.path.dirname(entry.path))
    if inner is None or inner.git_dir is None:
        return
    roots.mentioned(inner.git_dir, into)
    if inner.kind == "worktree":
        with views.indexed(repo, inner) as dirs:
            index = read_index(dirs)
        for tree in (index.staged, *index.stages.values()):
            into.add(oid for mode, oid in tree.values() if mode != _GITLINK)


def _pointed(path: str) -> str:
    content = gitfiles.read_below(*os.path.split(path)) or b""
    target = os.fsdecode(content.removeprefix(b"gitdir: ").rstrip(b"\n"))
    return os.path.normpath(os.path.join(os.path.dirname(path), target))


def _inside(path: str, folder: str) -> bool:
    return path.startswith(folder + os.sep)


def _keep_tar(
    importer: Importer,
    source: str,
    name: bytes,
    *,
    called: str,
    names: SharedNames,
    keep: Callable[[str], bool] = lambda _: True,
    only: Iterable[str] = ("",),
) -> list[Dropped]:
    """Keeps a folder as a tar; lists what of it cannot be kept, below what it is `called`."""
    with importer.spooled() as file:
        left, shared = tars.pack(source, file, keep=keep, only=only)
        size = file.tell()
        file.seek(0)
        mark, _ = importer.stream(file, size)
    importer.place(name, mode=b"100644", what=mark)
    for path, info in shared:
        names.add(info, _below(called, path), part=os.fsdecode(name))
    return few([Dropped(path=_below(called, path), reason=why) for path, why in left.items()])


def _below(called: str, path: str) -> str:
    return "/".join(filter(None, (called, path)))
