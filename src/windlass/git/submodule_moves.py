# ruff: noqa: PTH118
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Submodules in a person's checkouts, when a branch moves that has them at another commit then.

As with `git pull`: they go along where the person has set `submodule.recurse`, as `git submodule
update` has it, with their addresses and keys; else they stay. A submodule that stays is at the old
commit, and `git commit -a` there takes back what moved it: so who stays is told. None of this keeps
a branch from moving.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, NamedTuple

from windlass.core.errors import GitError
from windlass.core.printable import few, printable, printable_line
from windlass.git import bounds, index_entries, workspace_state, worktrees
from windlass.git.person_git import run_as_the_user, user_settings
from windlass.git.repository import places
from windlass.git.runner import run

if TYPE_CHECKING:
    from windlass.git.repository import Repository

log = logging.getLogger(__name__)
_TRUE = ("true", "yes", "on", "1")
_GITLINK = b"160000"
_UPDATE = ("-c", "core.hooksPath=/dev/null", "submodule", "update", "--recursive", "--")


class Stayed(NamedTuple):
    """Submodules of one checkout that are where they were before its branch moved."""

    place: str
    paths: list[str]

    def __str__(self) -> str:
        names = few([printable_line(path) for path in self.paths])
        place = printable_line(self.place)
        return (
            f"the submodule {names} stays where it was in {place}: git submodule update there,"
            " before a git commit -a takes back that it moved"
        )


def follow(repo: Repository, branch: str, *, old: str, new: str) -> None:
    """Has the submodules go along of those checkouts whose person has set that."""
    for place, paths in stayed(repo, branch, old=old, new=new):
        if user_settings(cwd=place).get("submodule.recurse", "false").lower() not in _TRUE:
            continue
        try:
            said = run_as_the_user([*_UPDATE, *paths], cwd=place, timeout=bounds.FILTERS)
        except GitError as error:
            log.warning("%s: submodules stay: %s", place, error.message)
            continue
        if said.code:
            told = printable(said.out.decode(errors="backslashreplace"))
            log.warning("%s: submodules stay: %s", place, told)


def stayed(repo: Repository, branch: str, *, old: str, new: str) -> list[Stayed]:
    """Lists the submodules that are at the old commit still in checkouts of a branch."""
    try:
        return _stayed(repo, branch, old, new)
    except GitError as error:
        log.warning("%s: which submodules stay is not known: %s", branch, error.message)
        return []


def _stayed(repo: Repository, branch: str, old: str, new: str) -> list[Stayed]:
    moved = {
        os.fsdecode(change.path): change.old.oid.decode()
        for change in index_entries.between(repo.dirs, old, new)
        if change.old and change.new and change.old.mode == change.new.mode == _GITLINK
    }
    found = []
    for place in places(repo, branch) if moved else ():
        is_theirs = place == repo.root or worktrees.is_of_person(repo, place)
        paths = [path for path, oid in moved.items() if is_theirs and _at(place, path) == oid]
        found += [Stayed(place, paths)] if paths else []
    return found


def _at(place: str, path: str) -> str | None:
    """The commit that a submodule is at; None where it has no files."""
    folder = os.path.join(place, path)
    is_filled = workspace_state.is_folder(folder) and os.path.lexists(os.path.join(folder, ".git"))
    if not is_filled:
        return None
    said = run(["rev-parse", "-q", "--verify", "HEAD"], cwd=folder, ok=(0, 1, 128))
    return said.out.decode().strip()
