# ruff: noqa: PTH102, PTH103, PTH104, PTH118, PTH120, PTH208
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Clones as workspaces: a `.git` folder of their own, the mirror's objects borrowed.

Owns how a clone is made: by us, file by file, since `git clone` would obey what it finds. It is
made in a folder beside and renamed, so that a clone that exists is whole. What happens in it is
its agent's business; nothing in it is believed afterwards.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from typing import TYPE_CHECKING

from windlass.core.errors import Conflict
from windlass.core.printable import printable_line
from windlass.git import (
    attire,
    gitfiles,
    mirror,
    open_flags,
    registered,
    workspace_state,
    worktrees,
)
from windlass.git.bounds import LONG
from windlass.git.environment import Dirs
from windlass.git.erasure import erase
from windlass.git.mirror import Ref
from windlass.git.repository import branch_exists, head_branch, null_oid, require, set_ref
from windlass.git.runner import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from windlass.git.repository import Repository


def borrowed(origin: str) -> tuple[str, ...]:
    """Lists the object folder that clones of a mirror have to be able to read: as written, real."""
    return tuple(dict.fromkeys((os.path.join(origin, "objects"), mirror.objects(origin))))


def is_there(path: str) -> bool:
    """Says whether a clone stands at `path`; a `.git` that is no folder is none."""
    return workspace_state.is_folder(os.path.join(path, ".git"))


def plant(repo: Repository, *, path: str, branch: str, start: str, origin: str) -> None:
    """Makes `path` a clone on `branch`, which is new at `start` if there is none yet.

    A clone that is there is left as it is. Of one that lost its `.git` folder the files stay, and
    git is not let near them: it would wait for ever at a pipe that its agent called `.gitignore`.
    """
    with _staged(repo, path=path, branch=branch, start=start, origin=origin) as staged:
        if staged is None:
            return
        folder, lock = staged
        git_dir = os.path.join(folder, ".git")
        empty = not os.path.lexists(path) or (
            workspace_state.is_folder(path) and not os.listdir(path)
        )
        # Of files that are there git finds out by itself, in the box, which of them have changed.
        run(
            ["reset", "-q", "--hard", "HEAD"] if empty else ["read-tree", "HEAD"],
            dirs=Dirs(git_dir=git_dir, work_tree=folder),
            config={"checkout.workers": str(min(4, os.cpu_count() or 1))},
            timeout=LONG,
            keep=(lock,),
        )
        if empty:
            registered.note_index(repo, path, os.path.join(git_dir, "index"))
            _settle(folder, path, clone=path)
        else:
            _settle(git_dir, os.path.join(path, ".git"), clone=path)


def sow(repo: Repository, *, path: str, branch: str, start: str, origin: str) -> str:
    """Makes `path` a clone without files, for work that is put back; gives its git folder."""
    with _staged(repo, path=path, branch=branch, start=start, origin=origin) as staged:
        if staged is not None:
            _settle(staged[0], path, clone=path)
    return os.path.join(path, ".git")


def _settle(made: str, target: str, *, clone: str) -> None:
    try:
        os.rename(made, target)
    except OSError as error:
        # Somebody else made the same one meanwhile; or something is in its place.
        if not is_there(clone):
            raise Conflict(
                f"{printable_line(target)} is in the way of a clone: {error.strerror}",
                "move it away, or salvage the workspace",
            ) from error


def uproot(repo: Repository, path: str) -> None:
    """Deletes a clone with what killed calls left beside it."""
    erase(path)
    _sweep(path)
    registered.forget(repo, path)


def _lead(path: str, origin: str) -> None:
    """Tells a clone which mirror it borrows from, where that is another than it was."""
    # An agent may have put links there; then it has cut itself off.
    with contextlib.suppress(OSError), gitfiles.opened(f"{path}/.git/objects/info") as top:
        gitfiles.put_at(top, "alternates", mirror.alternates(origin))


def _refuse_elsewhere(repo: Repository, *, path: str, branch: str) -> None:
    worktrees.refuse_elsewhere(repo, branch, path=path)
    if os.path.lexists(path) and not workspace_state.is_folder(path):
        raise Conflict(
            f"{printable_line(path)} is no folder any more", "salvage the workspace, or delete that"
        )
    if os.path.lexists(os.path.join(path, ".git")) and not is_there(path):
        raise Conflict(
            f"{printable_line(path)} is no clone any more: its .git is no folder",
            "salvage the workspace, or delete that .git to have it made again",
        )


@contextlib.contextmanager
def _staged(
    repo: Repository, *, path: str, branch: str, start: str, origin: str
) -> Iterator[tuple[str, int] | None]:
    """Lends a folder beside `path` with the git folder in it, and the lock on it.

    None where the clone is there already.
    """
    _refuse_elsewhere(repo, path=path, branch=branch)
    if not branch_exists(repo, branch):
        with contextlib.suppress(Conflict):
            set_ref(repo, f"refs/heads/{branch}", start, old=null_oid(repo))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    mirror.refresh(repo, origin, also=(require(repo, f"refs/heads/{branch}"),))
    if is_there(path) and registered.origin_of(repo, path) != origin:
        _lead(path, origin)
    registered.note(repo, path, branch=branch, origin=origin)
    if is_there(path):
        yield None
        return
    with _made_beside(path) as (folder, lock):
        _write_git_folder(repo, os.path.join(folder, ".git"), branch=branch, origin=origin)
        yield folder, lock


@contextlib.contextmanager
def _made_beside(path: str) -> Iterator[tuple[str, int]]:
    """Lends a folder beside `path`, locked for as long as anybody works in it."""
    _sweep(path)
    while True:
        folder = f"{_beside(path)}{secrets.token_hex(6)}"
        os.mkdir(folder)
        # Another call may sweep it away between its making and its lock.
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.lexists(folder):
            break
        os.close(lock)
    try:
        yield folder, lock
    finally:
        erase(folder)
        os.close(lock)


def _sweep(path: str) -> None:
    """Deletes what killed calls left: whatever nobody holds locked."""
    parent = os.path.dirname(path)
    for name in os.listdir(parent) if workspace_state.is_folder(parent) else []:
        left = os.path.join(parent, name)
        if not left.startswith(_beside(path)):
            continue
        with contextlib.suppress(OSError):
            lock = os.open(left, open_flags.FOLDER)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                erase(left)
            finally:
                os.close(lock)


def _beside(path: str) -> str:
    parent, name = os.path.split(path)
    return os.path.join(parent, f".{name}.making-")


def _write_git_folder(repo: Repository, git_dir: str, *, branch: str, origin: str) -> None:
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/remotes/origin", "info"):
        os.makedirs(os.path.join(git_dir, name))
    tip = require(repo, f"refs/heads/{branch}")
    head = head_branch(repo)
    files = {
        "HEAD": os.fsencode(f"ref: refs/heads/{branch}\n"),
        "objects/info/alternates": mirror.alternates(origin),
        "packed-refs": mirror.packed(_refs(repo, branch=branch, tip=tip)),
        "shallow": mirror.shallow(repo),
        "refs/remotes/origin/HEAD": os.fsencode(f"ref: refs/remotes/origin/{head}\n")
        if head
        else b"",
        **attire.files(repo, origin=origin),
    }
    for name, content in files.items():
        mirror.put(os.path.join(git_dir, name), content)
    attire.copy_hooks(repo, os.path.join(git_dir, "hooks"))


def _refs(repo: Repository, *, branch: str, tip: str) -> list[Ref]:
    """What a fresh `git clone` would know: branches of `origin`, tags, and its own branch."""
    heads, tags, _ = mirror.SHOWN
    refs = [Ref(os.fsencode(f"refs/heads/{branch}"), tip.encode(), b"")]
    for ref in mirror.refs(repo):
        if ref.name.startswith(heads.encode()):
            name = b"refs/remotes/origin/" + ref.name.removeprefix(heads.encode())
            # `origin/HEAD` is taken by the name of the branch that origin is on.
            if name != b"refs/remotes/origin/HEAD":
                refs.append(ref._replace(name=name))
        elif ref.name.startswith(tags.encode()):
            refs.append(ref)
    return refs
