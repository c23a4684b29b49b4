# ruff: noqa: PTH103, PTH112, PTH118, PTH119, PTH120, PTH123
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""The parts of a restore outside the restored folder: nested git folders, stashes, refs."""

from __future__ import annotations

import contextlib
import os
from typing import IO, TYPE_CHECKING

from windlass.core.printable import printable_line
from windlass.git import beneath, gitfiles, open_flags, tars, workspace_state
from windlass.git.blobs import kinds
from windlass.git.environment import Dirs
from windlass.git.repository import checkouts, read_ref, set_refs
from windlass.git.runner import run

if TYPE_CHECKING:
    from windlass.git.manifest import Manifest, Nested
    from windlass.git.repository import Repository


_LONGEST = 4096
"""Characters of what a stash is called."""


def put_back_stashes(repo: Repository, about: Manifest) -> list[str]:
    """Stores the stashes again that are no longer in the shared list, oldest first."""
    back = store_stashes(repo.dirs, about, cwd=repo.root)
    return [f"put back {back} of {len(about.stashes)} stashes"] if back else []


def store_stashes(dirs: Dirs, about: Manifest, *, cwd: str) -> int:
    """Stores in a repository those stashes that it lacks, oldest first; counts them.

    A clone may have listed what was never its own; that was not brought home.
    """
    log = (
        workspace_state.read_small(os.path.join(dirs.git_dir, "logs/refs/stash"), limit=64 << 20)
        or b""
    )
    words = (line.split(b" ", 2) for line in log.splitlines())
    there = {more[0].decode(errors="replace") for _, *more in words if more}
    here = kinds(dirs, (stash.oid for stash in about.stashes)).keys() - there
    back = [stash for stash in reversed(about.stashes) if stash.oid in here]
    for stash in back:
        said = stash.message.replace("\0", "")[:_LONGEST]
        run(["stash", "store", "-q", "-m", said, stash.oid], dirs=dirs, cwd=cwd)
    return len(back)


def put_back_tags(repo: Repository, about: Manifest, *, commit: str) -> None:
    """Makes the tag objects again that a clone's refs name."""
    for oid in about.tags if about.kind == "clone" else ():
        raw = repo.git("cat-file", "blob", f"{commit}:tags/{oid}").out
        repo.git("hash-object", "-w", "-t", "tag", "--stdin", "--literally", stdin=raw)


def refs_of(dirs: Dirs) -> dict[str, str]:
    """Gives every ref of a repository of ours."""
    said = run(["for-each-ref", "--format=%(objectname) %(refname)"], dirs=dirs)
    pairs = (line.split(b" ", 1) for line in said.out.splitlines())
    return {os.fsdecode(name): oid.decode() for oid, name in pairs}


def put_back_refs(repo: Repository, about: Manifest) -> list[str]:
    """Gives a clone's branches and tags names of ours, so that nothing of the user's is touched.

    A clone that is restored as one borrows them, so they have to stay.
    """
    if about.kind != "clone":
        return []
    top = f"refs/windlass/restored/{about.agent}/{about.stamp}"
    refs = {
        f"{top}/{name.removeprefix('refs/')}": oid
        for name, oid in about.refs.items()
        if name.startswith(("refs/heads/", "refs/tags/")) and name != f"refs/heads/{about.branch}"
    }
    stashes = {f"{top}/stash/{number}": stash.oid for number, stash in enumerate(about.stashes)}
    # A clone may name what was never its own; that was not brought home, and is left out.
    left = set_refs(repo.dirs, refs | stashes)
    kept = len(refs.keys() - left.keys())
    return [f"{kept} other branches and tags of the clone are under {top}"] if kept else []


def point(
    repo: Repository,
    nested: Nested,
    *,
    pointer: str,
    admin: str,
    moved: tuple[str, str],
    tar: IO[bytes] | None,
) -> list[str]:
    """Makes a nested repository's `.git` file point to its git folder again."""
    work_tree = os.path.dirname(pointer)
    if nested.target == "admin":
        module = os.path.join(admin, nested.target_path)
        _write_pointer(pointer, module)
        _set_work_tree(module, work_tree)
        return []
    if nested.target == "worktree" and tar is not None:
        return _nested_worktree(repo, nested, pointer=pointer, tar=tar)
    target = nested.target_path
    if nested.target == "module" and tar is not None and not os.path.lexists(target):
        inside = os.path.dirname(os.path.relpath(target, repo.git_dir))
        with beneath.opened(repo.git_dir, os.fsencode(inside)):
            tars.unpack(tar, target)
        _set_work_tree(target, work_tree)
    old, new = moved
    if target.startswith(old + os.sep):
        target = new + target.removeprefix(old)
    _write_pointer(pointer, target)
    if os.path.isdir(target):
        return []
    return [f"{printable_line(nested.path)} points to {printable_line(target)}, which is gone"]


def _write_pointer(pointer: str, target: str) -> None:
    """Puts a pointer in the place of whatever the saved work has there, a link for example."""
    folder, name = os.path.split(pointer)
    with gitfiles.opened(workspace_state.canonical(folder)) as parent:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=parent)
        handle = os.open(name, open_flags.NEW, 0o644, dir_fd=parent)
        with os.fdopen(handle, "wb") as file:
            file.write(b"gitdir: " + os.fsencode(target) + b"\n")


def _set_work_tree(git_dir: str, work_tree: str) -> None:
    config = os.path.join(git_dir, "config")
    if workspace_state.read_small(config) is not None:
        # Whatever else is in it: an agent wrote that, and it may be no configuration at all.
        run(["config", "--file", config, "core.worktree", work_tree], ok=range(256))


def _nested_worktree(
    repo: Repository, nested: Nested, *, pointer: str, tar: IO[bytes]
) -> list[str]:
    top = os.path.join(repo.git_dir, "worktrees")
    admin = free_name(top, os.path.basename(nested.target_path))
    os.makedirs(admin)
    tars.unpack(tar, admin)
    _write_pointer(pointer, admin)
    with open(os.path.join(admin, "commondir"), "wb") as file:
        file.write(b"../..\n")
    followed = workspace_state.read_small(os.path.join(admin, "HEAD")) or b""
    ref = os.fsdecode(followed.removeprefix(b"ref: ").strip())
    taken = ref.removeprefix("refs/heads/") in checkouts(repo)
    with open(os.path.join(admin, "gitdir"), "wb") as file:
        file.write(os.fsencode(pointer) + b"\n")
    if not followed.startswith(b"ref: ") or (not taken and read_ref(repo, ref) is not None):
        return []
    if not nested.head:
        return []
    run(["update-ref", "--no-deref", "HEAD", nested.head], dirs=_dirs(repo, admin))
    return [
        f"the worktree {printable_line(nested.path)} is detached: {printable_line(ref)} is not free"
    ]


def _dirs(repo: Repository, admin: str) -> Dirs:
    return Dirs(git_dir=admin, common_dir=repo.git_dir)


def free_name(top: str, name: str) -> str:
    """A path in a folder where nothing is yet, called like this or nearly so."""
    number = 0
    while os.path.lexists(os.path.join(top, f"{name}{number or ''}")):
        number += 1
    return os.path.join(top, f"{name}{number or ''}")
