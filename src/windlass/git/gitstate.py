# ruff: noqa: PTH118, PTH120
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Writes a workspace's git state into a salvage: index, unfinished work, nested repositories."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING, NamedTuple

from windlass.core.errors import GitError
from windlass.git import names, roots, tars, workspace_state
from windlass.git.manifest import Dropped, Nested
from windlass.git.runner import LONG, Dirs, run
from windlass.git.status import nested_place
from windlass.git.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from windlass.git.contents import Tree
    from windlass.git.quarantine import Importer, Quarantine
    from windlass.git.repository import Repository
    from windlass.git.walk import WalkEntry
    from windlass.git.workspace_state import WorkspacePlace

_RAW_OBJECTS = 256 << 20
_MODES = frozenset((b"100644", b"100755", b"120000", b"160000"))


def read_tree(dirs: Dirs, commit: str | None) -> Tree:
    """Lists a commit's whole tree."""
    if commit is None:
        return {}
    listed = run(["ls-tree", "-r", "-z", "--full-tree", commit], dirs=dirs, timeout=LONG).out
    tree: Tree = {}
    for record in filter(None, listed.split(b"\0")):
        about, _, path = record.partition(b"\t")
        mode, _, oid = about.split(b" ")
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
        listed = run(["ls-files", "-s", "-v", "-z"], dirs=dirs, timeout=LONG).out
    except GitError as error:
        last = error.message.strip().splitlines()[-1]
        seen.dropped.append(_raw_alone("index", f"it cannot be read ({last.strip(' |')})"))
        return seen._replace(is_whole=False)
    for record in filter(None, listed.split(b"\0")):
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
            if oid in present:
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
        if mode == b"160000" or oid in present:
            importer.place(b"index/" + path, mode=mode, what=oid)
    return True


def _present(inside: Quarantine, tree: Tree, came: set[str] | None) -> set[str]:
    known = set(inside.known(oid for _, oid in tree.values()))
    return known if came is None else known & came


def keep_state(importer: Importer, place: WorkspacePlace) -> list[Dropped]:
    """Keeps the workspace's own git folder; a clone's objects come home another way."""
    if place.git_dir is None:
        return []
    bulky = ("objects",) if place.kind == "clone" else ()
    left = _keep_tar(
        importer,
        place.git_dir,
        b"gitdir.tar",
        keep=lambda name: name.split("/")[0] not in bulky and not name.endswith(".lock"),
    )
    return [Dropped(path=f".git/{name}", reason="a socket, pipe or device") for name in left]


def keep_raw_objects(importer: Importer, place: WorkspacePlace) -> list[Dropped]:
    """Keeps a clone's objects as the files that they are: git did not take them as objects."""
    objects = os.path.join(place.git_dir or "", "objects")
    size = sum(entry.info.st_size for entry in walk(objects) if entry.kind == "file")
    reason = "they are not what their names say; kept as raw bytes in objects.tar"
    if size > _RAW_OBJECTS:
        reason = f"they are not what their names say, and larger than {_RAW_OBJECTS >> 20} MiB"
    else:
        _keep_tar(importer, objects, b"objects.tar")
    return [Dropped(path=".git/objects", reason=reason, size=size, files=0)]


def keep_nested(
    importer: Importer, repo: Repository, *, place: WorkspacePlace, entry: WalkEntry, number: int
) -> Nested:
    """Keeps a nested repository's `.git`, and what it points to where that is ours."""
    path = os.path.join(place.path, os.fsdecode(entry.path))
    tar = f"nested/{number}.tar"
    _keep_tar(importer, path, tar.encode())
    nested = Nested(path=os.fsdecode(entry.path), tar=tar)
    if not stat.S_ISREG(entry.info.st_mode):
        return nested
    inner = nested_place(repo, place, os.path.dirname(entry.path))
    if inner is None or inner.git_dir is None:
        return Nested(path=nested.path, tar=tar, target="elsewhere", target_path=_pointed(path))
    if place.git_dir is not None and _inside(inner.git_dir, place.git_dir):
        relative = os.path.relpath(inner.git_dir, place.git_dir)
        return Nested(path=nested.path, tar=tar, target="admin", target_path=relative)
    if _inside(inner.git_dir, place.path):
        return Nested(path=nested.path, tar=tar, target="elsewhere", target_path=inner.git_dir)
    target_tar = f"nested/{number}.git.tar"
    _keep_tar(importer, inner.git_dir, target_tar.encode(), keep=lambda n: not n.endswith(".lock"))
    return Nested(
        path=nested.path,
        tar=tar,
        target="worktree" if inner.kind == "worktree" else "module",
        target_path=inner.git_dir,
        target_tar=target_tar,
        head=workspace_state.head_of(repo, inner)[1] or "",
    )


def named_by_nested(repo: Repository, *, place: WorkspacePlace, entry: WalkEntry) -> set[str]:
    """Gathers the ids that a nested repository's own files mention: it may borrow our objects."""
    inner = nested_place(repo, place, os.path.dirname(entry.path))
    if inner is None or inner.git_dir is None:
        return set()
    return roots.mentioned(inner.git_dir)


def _pointed(path: str) -> str:
    content = workspace_state.read_small(path) or b""
    target = os.fsdecode(content.removeprefix(b"gitdir: ").rstrip(b"\n"))
    return os.path.normpath(os.path.join(os.path.dirname(path), target))


def _inside(path: str, folder: str) -> bool:
    return path.startswith(folder + os.sep)


def _keep_tar(
    importer: Importer, source: str, name: bytes, *, keep: Callable[[str], bool] = lambda _: True
) -> list[str]:
    with importer.spooled() as file:
        left = tars.pack(source, file, keep=keep)
        size = file.tell()
        file.seek(0)
        mark, _ = importer.stream(file, size)
    importer.place(name, mode=b"100644", what=mark)
    return left
