# ruff: noqa: PTH103, PTH106, PTH108, PTH118, PTH119, PTH120, PTH123, PTH208
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""The registration of linked worktrees: admin folder, pointer and branch, one at a time.

`git worktree add` races with itself, so every registration happens under one lock of ours. What
is in the folder afterwards is the business of `workspaces` and `restore`.
"""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING

from windlass import whole_file
from windlass.core.errors import Conflict, UserError
from windlass.core.printable import printable_line
from windlass.git import gitfiles, workspace_state
from windlass.git.erasure import erase
from windlass.git.repository import branch_exists, checkouts
from windlass.git.runner import run

if TYPE_CHECKING:
    from windlass.git.repository import Repository

_LOCK = "worktrees"
# Left in the admin folder once the files are whole: from then on they are the agent's.
_READY = "windlass-ready"
_REASON = "windlass"
"""How the reason begins for which git has the worktree of an agent locked."""


def outside(repo: Repository, path: str) -> str:
    """Gives the canonical path of a workspace; refuses one inside the repository."""
    folder = workspace_state.canonical(path)
    for inside in (repo.root, repo.git_dir):
        if (inside + os.sep).startswith(folder.rstrip(os.sep) + os.sep):
            raise UserError(
                f"{printable_line(path)} holds the repository {printable_line(repo.root)}",
                "choose a folder of its own for the workspace",
            )
        if folder.startswith(inside + os.sep):
            raise UserError(
                f"{printable_line(path)} is inside the repository {printable_line(repo.root)}",
                "choose a folder outside: nested copies break every tool that walks the tree",
            )
    return folder


def refuse_full(path: str) -> None:
    """Refuses a place where something is already."""
    if os.path.lexists(path) and (not workspace_state.is_folder(path) or os.listdir(path)):
        raise Conflict(
            f"{printable_line(path)} exists already and is not empty",
            "move it away or choose another",
        )


def refuse_elsewhere(repo: Repository, branch: str, *, path: str | None = None) -> None:
    """Refuses a branch that is checked out in another place than `path`."""
    elsewhere = checkouts(repo).get(branch)
    if elsewhere not in (None, path):
        raise Conflict(
            f"the branch {printable_line(branch)} is checked out in"
            f" {printable_line(elsewhere or '')}",
            "switch that checkout to another branch first",
        )


def register(repo: Repository, *, path: str, branch: str, start: str, agent: str) -> str:
    """Makes `path` a linked worktree without files, on `branch`, new at `start` if need be.

    Completes what a killed call began; gives the admin folder.
    """
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with workspace_state.locked(repo, _LOCK):
        admin = workspace_state.find_admin(repo, path)
        if admin is not None and _is_whole(admin):
            _point(path, admin)
            return admin
        if admin is not None:
            erase(admin)
            erase(path)
        _sweep_half_made(repo, os.path.basename(path))
        return _add(repo, path=path, branch=branch, start=start, agent=agent)


def follow(repo: Repository, path: str) -> None:
    """Points a workspace to where its repository is now, after that was moved."""
    admin = workspace_state.find_admin(repo, path)
    if admin is not None and workspace_state.is_folder(path):
        _point(path, admin)


def move(repo: Repository, path: str, to: str) -> None:
    """Has git know the worktree at `path` elsewhere, with those inside it; its files stay."""
    with workspace_state.locked(repo, _LOCK):
        for admin, place in _within(repo, path).items():
            pointer = os.path.join(to + place.removeprefix(path), ".git")
            content = os.fsencode(pointer) + b"\n"
            whole_file.replace(os.path.join(admin, "gitdir"), content, mode=0o644)


def unregister(repo: Repository, path: str) -> None:
    """Deletes the folder and its admin entry, and those of worktrees inside it."""
    erase(path)  # not under the lock: there may be millions of files, and others wait for it
    forget(repo, path)


def forget(repo: Repository, path: str) -> None:
    """Deletes the admin entry of a worktree, and those of worktrees inside it."""
    with workspace_state.locked(repo, _LOCK):
        for admin in _within(repo, path):
            erase(admin)
        with contextlib.suppress(OSError):
            os.rmdir(os.path.join(repo.git_dir, "worktrees"))


def _within(repo: Repository, path: str) -> dict[str, str]:
    """Maps the admin folders of the worktree at `path`, and of those inside it, to their places."""
    return {
        admin: place
        for admin, place in workspace_state.admins(repo).items()
        if place == path or place.startswith(path + os.sep)
    }


def is_ready(admin: str) -> bool:
    """Says whether the files were all there once."""
    return os.path.lexists(os.path.join(admin, _READY))


def mark_ready(admin: str, *, branch: str) -> None:
    """Notes that the files are all there, and which branch is the workspace's own."""
    with open(os.path.join(admin, _READY), "wb") as file:
        file.write(os.fsencode(branch) + b"\n")


def own_branch(admin: str) -> str | None:
    """Names the branch that the workspace was made for, whatever HEAD is on now."""
    content = gitfiles.read_below(workspace_state.canonical(admin), _READY) or b""
    return os.fsdecode(content.strip()) or None


def is_of_person(repo: Repository, path: str) -> bool:
    """Says whether a place is a worktree that no agent was given."""
    admin = workspace_state.find_admin(repo, path)
    if admin is None or own_branch(admin) is not None:
        return False
    # One of an agent's that is not ready yet is known by why it is locked.
    locked = gitfiles.read_below(workspace_state.canonical(admin), "locked") or b""
    return not locked.startswith((_REASON.encode(), b"initializing"))


def _add(repo: Repository, *, path: str, branch: str, start: str, agent: str) -> str:
    refuse_elsewhere(repo, branch)
    refuse_full(path)
    new = () if branch_exists(repo, branch) else ("-b", branch)
    reason = f"{_REASON} agent {agent}" if agent else _REASON
    # Locked: `git worktree prune` would throw away the index and reflog of a deleted folder.
    flags = ("-q", "--no-checkout", "--lock", "--reason", reason)
    run(["worktree", "add", *flags, *new, path, start if new else branch], dirs=repo.dirs)
    made = workspace_state.find_admin(repo, path)
    if made is None:
        raise Conflict(
            f"git made no worktree at {printable_line(path)}", "was it removed meanwhile? try again"
        )
    return made


def _is_whole(admin: str) -> bool:
    """Tells a finished admin folder from one whose `git worktree add` was killed."""
    own = workspace_state.canonical(admin)
    if gitfiles.read_below(own, "locked") == b"initializing":
        return False
    return all(gitfiles.read_below(own, name) for name in ("HEAD", "commondir"))


def _sweep_half_made(repo: Repository, name: str) -> None:
    # A `worktree add` killed in its first moments leaves an admin folder that points nowhere and
    # can make every later `worktree add` fail.
    top = os.path.join(repo.git_dir, "worktrees")
    pattern = re.compile(re.escape(name) + r"\d*")
    for entry in os.listdir(top) if workspace_state.is_folder(top) else []:
        if not pattern.fullmatch(entry):
            continue
        admin = workspace_state.canonical(os.path.join(top, entry))
        nowhere = not gitfiles.read_below(admin, "gitdir")
        if nowhere and gitfiles.read_below(admin, "locked") in (b"initializing", b""):
            erase(admin)


def _point(path: str, admin: str) -> None:
    """Makes the folder and its pointer exist; what is in the folder stays."""
    os.makedirs(path, exist_ok=True)
    pointer = os.path.join(path, ".git")
    wanted = b"gitdir: " + os.fsencode(admin) + b"\n"
    if workspace_state.read_small(pointer) == wanted:
        return
    if workspace_state.is_folder(pointer):
        raise Conflict(
            f"{printable_line(path)} has become a repository of its own",
            "its .git folder is not ours to replace; salvage the workspace instead",
        )
    with contextlib.suppress(FileNotFoundError):
        os.unlink(pointer)
    with open(pointer, "xb") as file:
        file.write(wanted)
