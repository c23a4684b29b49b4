# ruff: noqa: PTH108, PTH118, PTH123
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Brings a salvage back as a new workspace, as it was to the byte, and never over anything.

A note beside our locks says that a restore is under way, so that calling it again after a crash
starts it anew instead of finding its own half-made folder in the way.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING

import msgspec

from windlass.core.errors import Conflict, GitError
from windlass.core.printable import printable_line
from windlass.git import (
    clones,
    gitfiles,
    manifest,
    mirror,
    object_transfer,
    putback_outside,
    registered,
    workspace_state,
    worktrees,
)
from windlass.git.manifest import RESTORED
from windlass.git.putback import ClonePutBack, PutBack
from windlass.git.repository import (
    branch_exists,
    check_branch_name,
    delete_ref,
    read_ref,
    set_ref,
)

if TYPE_CHECKING:
    from windlass.git.environment import ReadBox
    from windlass.git.manifest import Manifest
    from windlass.git.repository import Repository


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """Where the work is back, and what is not quite as it was."""

    path: str
    branch: str
    base: str | None
    notes: list[str]


def restore(
    repo: Repository,
    about: Manifest,
    *,
    commit: str,
    path: str,
    branch: str,
    agent: str,
    origin: str | None = None,
    box: ReadBox | None = None,
) -> Restored:
    """Makes a new workspace at `path` on the new branch `branch` and puts everything back.

    It is a linked worktree; or a clone, where `origin` names a mirror. In a clone git works through
    `box`, where there is one: index and names are what an agent made them.
    """
    check_branch_name(branch)
    folder = worktrees.outside(repo, path)
    start = _start(about)
    if start is None:
        raise GitError(
            "the saved work has no commit to start from", f"its files are in `git show {commit}`"
        )
    if _is_done(repo, commit=commit, path=folder, branch=branch):
        return Restored(path=folder, branch=branch, base=about.base, notes=[])
    note = _begin(repo, about, commit=commit, path=folder, branch=branch, agent=agent)
    try:
        notes = _build(
            repo,
            about,
            commit=commit,
            path=folder,
            branch=branch,
            start=start,
            agent=agent,
            origin=origin,
            box=box,
        )
    except Exception:
        # Nobody has worked in it: the saved work is whole, and can be brought back again.
        _clear(repo, about, path=folder, branch=branch, agent=agent)
        os.unlink(note)
        raise
    os.unlink(note)
    return Restored(path=folder, branch=branch, base=about.base, notes=notes)


def take_back(repo: Repository, *, commit: str, path: str, branch: str, agent: str) -> None:
    """Takes away what a restore has made, whole or not, before anybody has worked in it.

    What another made under the same names stays.
    """
    folder = worktrees.outside(repo, path)
    note = _note(repo, commit=commit, path=folder, branch=branch)
    if _is_done(repo, commit=commit, path=folder, branch=branch):
        with open(note, "wb"):  # whoever comes after a kill goes on here
            pass
    if os.path.lexists(note):
        _clear(repo, manifest.read(repo, commit), path=folder, branch=branch, agent=agent)
        os.unlink(note)


def _build(
    repo: Repository,
    about: Manifest,
    *,
    commit: str,
    path: str,
    branch: str,
    start: str,
    agent: str,
    origin: str | None,
    box: ReadBox | None,
) -> list[str]:
    """Makes the workspace and fills it; gives what is not as it was."""
    putback_outside.put_back_tags(repo, about, commit=commit)
    if origin is None:
        git_dir = worktrees.register(repo, path=path, branch=branch, start=start, agent=agent)
        notes = _fill_worktree(repo, about, commit=commit, path=path, branch=branch, admin=git_dir)
    else:
        git_dir = clones.sow(repo, path=path, branch=branch, start=start, origin=origin)
        # It is ours still, and what was salvaged is in no mirror.
        known = mirror.brought(repo, origin)
        object_transfer.carry(repo, git_dir, wanted={commit, *about.tags}, had=known)
        work = ClonePutBack(
            repo,
            about,
            commit=commit,
            path=path,
            branch=branch,
            git_dir=git_dir,
            origin=origin,
            box=tuple(box(path)) if box is not None else (),
        )
        notes = work.run()
    notes += putback_outside.put_back_refs(repo, about)
    if agent and about.base and read_ref(repo, _base_ref(agent)) is None:
        set_ref(repo, _base_ref(agent), about.base)
    with open(os.path.join(git_dir, RESTORED), "wb") as file:
        file.write(commit.encode())
    return notes


def _fill_worktree(
    repo: Repository, about: Manifest, *, commit: str, path: str, branch: str, admin: str
) -> list[str]:
    notes: list[str] = []
    if not worktrees.is_ready(admin):
        work = PutBack(repo, about, commit=commit, path=path, branch=branch, git_dir=admin)
        notes += work.run()
        worktrees.mark_ready(admin, branch=branch)
    return notes + putback_outside.put_back_stashes(repo, about)


def _is_done(repo: Repository, *, commit: str, path: str, branch: str) -> bool:
    """Says whether this very restore was completed: its caller may have died before it knew."""
    place = workspace_state.locate(repo, path)
    if place.git_dir is None:
        return False
    own = registered.branch_of(repo, path) or worktrees.own_branch(place.git_dir)
    done = gitfiles.read_below(place.git_dir, RESTORED) == commit.encode()
    return done and own == branch


def _start(about: Manifest) -> str | None:
    """The commit that a restored branch begins with."""
    return about.tip or about.head or about.base


def _base_ref(agent: str) -> str:
    return f"refs/windlass/base/{agent}"


def _begin(
    repo: Repository, about: Manifest, *, commit: str, path: str, branch: str, agent: str
) -> str:
    """Refuses to overwrite, or clears away what a killed restore of the same had made."""
    note = _note(repo, commit=commit, path=path, branch=branch)
    admin = workspace_state.find_admin(repo, path)
    if not os.path.lexists(note):
        if branch_exists(repo, branch):
            raise Conflict(
                f"the branch {printable_line(branch)} exists already", "restore under another name"
            )
        worktrees.refuse_full(path)
        repo.make_private()
        with open(note, "xb"):
            pass
    elif admin is None or not worktrees.is_ready(admin):
        _clear(repo, about, path=path, branch=branch, agent=agent)
    return note


def _note(repo: Repository, *, commit: str, path: str, branch: str) -> str:
    """Names the file that is there while a restore is under way."""
    key = hashlib.sha256(f"{commit}\0{path}\0{branch}".encode(errors="surrogateescape"))
    return os.path.join(repo.private, f"restore-{key.hexdigest()[:16]}")


def _clear(repo: Repository, about: Manifest, *, path: str, branch: str, agent: str) -> None:
    """Takes away what a restore had made before it failed, or was killed."""
    clones.uproot(repo, path)
    worktrees.unregister(repo, path)
    made = {f"refs/heads/{branch}": _start(about)}
    if agent:
        made[_base_ref(agent)] = about.base
    for ref, oid in made.items():
        if oid is not None and read_ref(repo, ref) == oid:
            delete_ref(repo, ref, old=oid)
