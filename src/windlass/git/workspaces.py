# ruff: noqa: PTH103, PTH104, PTH108, PTH118, PTH120, PTH208
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Workspaces of agents: made, found again after a crash, brought back, removed.

Owns the folder, the branch and `refs/windlass/base/<agent>`. Removing destroys: callers salvage
first. What is inside a workspace is told by `status` and `diff`, which are offered here too.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import msgspec

from windlass.core.errors import Conflict, GitError
from windlass.core.printable import printable_line
from windlass.git import clones, gitfiles, registered, workspace_state, worktrees
from windlass.git.bounds import LONG
from windlass.git.changes import diff, materialise
from windlass.git.descent import opened_up
from windlass.git.environment import Dirs
from windlass.git.included import include
from windlass.git.repository import (
    branch_exists,
    check_branch_name,
    checkouts,
    delete_refs,
    null_oid,
    read_ref,
    refs_under,
    require,
    set_ref,
)
from windlass.git.runner import armed, run
from windlass.git.status import WorkStatus, status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windlass.git.repository import Repository

__all__ = [
    "WorkStatus",
    "Workspace",
    "base_ref",
    "create",
    "diff",
    "ensure",
    "follow",
    "forget",
    "include",
    "is_kept",
    "materialise",
    "move",
    "remove",
    "status",
]


class Workspace(msgspec.Struct, frozen=True, kw_only=True):
    """A linked worktree or a clone that stands ready."""

    path: str
    branch: str
    base: str


def base_ref(agent: str) -> str:
    """Names the ref that pins where an agent began, and marks the branch as ours."""
    return f"refs/windlass/base/{agent}"


def create(
    repo: Repository, *, path: str, branch: str, base: str, agent: str, origin: str | None = None
) -> Workspace:
    """Makes `path` a workspace on the new branch `branch` at `base`.

    It is a linked worktree; or, where `origin` names a mirror, a clone that has it for its origin.
    Calling it again after a crash at any point completes it. The base ref comes first: a branch
    that exists without it belongs to somebody else and is refused.
    """
    check_branch_name(branch)
    folder = worktrees.outside(repo, path)
    start = _claim(repo, agent=agent, branch=branch, path=folder, base=require(repo, base))
    if origin is not None and not os.path.lexists(os.path.join(folder, ".git")):
        worktrees.refuse_full(folder)
    _stand(repo, path=folder, branch=branch, start=start, agent=agent, origin=origin)
    return Workspace(path=folder, branch=branch, base=start)


def ensure(
    repo: Repository, *, path: str, branch: str, agent: str = "", origin: str | None = None
) -> Workspace:
    """Brings back a workspace folder that was deleted by hand, from its index or its branch."""
    folder = worktrees.outside(repo, path)
    tip = require(repo, f"refs/heads/{branch}")
    _stand(repo, path=folder, branch=branch, start=tip, agent=agent, origin=origin)
    base = read_ref(repo, base_ref(agent)) if agent else None
    return Workspace(path=folder, branch=branch, base=base or tip)


def move(repo: Repository, *, path: str, to: str) -> None:
    """Moves a workspace to another place, with all that git knows of it, or completes that.

    Where there is something already, what came to be at `path` meanwhile stays there.
    """
    folder, target = worktrees.outside(repo, path), worktrees.outside(repo, to)
    if os.path.lexists(target):
        return
    os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
    _register(repo, folder, target)
    try:
        _rename(folder, target)
    except OSError as error:
        _register(repo, target, folder)
        raise GitError(
            f"{printable_line(folder)} cannot be moved: {error.strerror}",
            "see who may write to it and to the folder around it, then try again",
        ) from error


def _register(repo: Repository, folder: str, target: str) -> None:
    registered.move(repo, folder, target)
    worktrees.move(repo, folder, target)


def _rename(folder: str, target: str) -> None:
    try:
        os.rename(folder, target)
    except FileNotFoundError:
        pass  # deleted by hand; git still knows it
    except PermissionError:
        # Its agent has closed it: who moves a folder writes in it which one is above.
        above, name = os.path.split(folder)
        with gitfiles.opened(above) as parent, opened_up(name, folder=parent):
            os.rename(folder, target)


def is_kept(repo: Repository, branch: str, kept: Sequence[str]) -> bool:
    """Says whether all that is on a branch is in one of these salvages."""
    ref = f"refs/heads/{branch}"
    said = repo.git("rev-list", "-n1", ref, "--not", *kept, ok=(0, 128))
    return not said.out if said.code == 0 else read_ref(repo, ref) is None


def forget(repo: Repository, *, path: str, branch: str, agent: str) -> None:
    """Deletes branch, base ref and what git knows of a workspace; its folder stays as it is."""
    folder = worktrees.outside(repo, path)
    delete_refs(repo, f"refs/heads/{branch}", base_ref(agent))
    registered.forget(repo, folder)
    worktrees.forget(repo, folder)


def remove(repo: Repository, *, path: str, branch: str, agent: str) -> None:
    """Deletes branch, base ref, admin entry and folder; only ever after a salvage succeeded.

    The refs first: deleting them can be refused, and then the workspace is still whole.
    """
    folder = worktrees.outside(repo, path)
    delete_refs(repo, f"refs/heads/{branch}", base_ref(agent))
    if registered.branch_of(repo, folder) is not None:
        clones.uproot(repo, folder)
    worktrees.unregister(repo, folder)


def follow(repo: Repository, path: str) -> None:
    """Points a workspace to where its repository is now, after that was moved.

    A clone borrows from the mirror, which stays where it is.
    """
    folder = workspace_state.canonical(path)
    if registered.branch_of(repo, folder) is None:
        worktrees.follow(repo, folder)


def _stand(
    repo: Repository, *, path: str, branch: str, start: str, agent: str, origin: str | None
) -> None:
    if origin is not None:
        clones.plant(repo, path=path, branch=branch, start=start, origin=origin)
        return
    admin = worktrees.register(repo, path=path, branch=branch, start=start, agent=agent)
    _check_out(repo, admin=admin, path=path, branch=branch)


def _claim(repo: Repository, *, agent: str, branch: str, path: str, base: str) -> str:
    ref = base_ref(agent)
    claimed = read_ref(repo, ref)
    if claimed is not None:
        return claimed
    _refuse_taken(repo, branch)
    worktrees.refuse_full(path)
    set_ref(repo, ref, base, old=null_oid(repo))
    return base


def _refuse_taken(repo: Repository, branch: str) -> None:
    if branch_exists(repo, branch):
        place = checkouts(repo).get(branch)
        used = f", checked out in {printable_line(place)}" if place else ""
        raise Conflict(
            f"the branch {printable_line(branch)} exists already and is not this agent's{used}",
            f"choose another name, or rename it: `git branch -m {printable_line(branch)} NEW-NAME`",
        )
    # Git keeps branches like files: `a` and `a/b` exclude each other.
    parts = branch.split("/")
    above = ["/".join(parts[:length]) for length in range(1, len(parts))]
    below = refs_under(repo, f"refs/heads/{branch}/")
    taken = [name for name in above if branch_exists(repo, name)] + list(below)
    if taken:
        raise Conflict(
            f"the branch {printable_line(branch)} cannot stand beside {printable_line(taken[0])}",
            f"rename that one: `git branch -m {printable_line(taken[0])} NEW-NAME`",
        )


def _check_out(repo: Repository, *, admin: str, path: str, branch: str) -> None:
    with workspace_state.locked_file(os.path.join(admin, "windlass.lock")) as lock:
        ready = worktrees.is_ready(admin)
        if ready and os.listdir(path) != [".git"]:
            return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(admin, "index.lock"))
        # Deleted by hand later: then the index still knows what was staged.
        staged = ready and os.path.lexists(os.path.join(admin, "index"))
        run(
            ["checkout-index", "-a", "-q"] if staged else ["reset", "-q", "--hard", "HEAD"],
            dirs=armed(Dirs(git_dir=admin, common_dir=repo.git_dir, work_tree=path)),
            config={"checkout.workers": str(min(4, os.cpu_count() or 1))},
            timeout=LONG,
            ok=(0, 1) if staged else (0,),
            keep=(lock,),
        )
        worktrees.mark_ready(admin, branch=branch)
