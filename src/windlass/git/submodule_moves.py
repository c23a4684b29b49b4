# ruff: noqa: PTH108, PTH112, PTH118
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Submodules in a person's checkouts, when a branch moves that has them at another commit then.

As with `git pull`: they go along where the person has set `submodule.recurse`, as `git submodule
update` has it, with their addresses and keys; else they stay. A submodule that stays is at the old
commit, and `git commit -a` there takes back what moved it: so who stays is told. One that is a
plain folder now goes along by losing the file that makes it a repository; that one is kept as it
was. None of this keeps a branch from moving.
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
    from collections.abc import Iterable

    from windlass.git.index_entries import Change
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


class Replaced(NamedTuple):
    """Submodules of one checkout that are plain folders now, and that git takes for repositories.

    What is new in them no status shows, and no `git add` takes.
    """

    place: str
    paths: list[str]

    def __str__(self) -> str:
        files = few([printable_line(os.path.join(path, ".git")) for path in self.paths])
        return (
            f"the submodule {few([printable_line(path) for path in self.paths])} is a plain folder"
            f" now, and git takes it for a repository in {printable_line(self.place)} until you"
            f" delete {files} there"
        )


def follow(repo: Repository, branch: str, *, old: str, new: str) -> None:
    """Has the submodules go along of those checkouts whose person has set that."""
    for stays in stayed(repo, branch, old=old, new=new):
        place, paths = stays
        if user_settings(cwd=place).get("submodule.recurse", "false").lower() not in _TRUE:
            continue
        if isinstance(stays, Replaced):
            _make_plain(place, paths)
            continue
        try:
            said = run_as_the_user([*_UPDATE, *paths], cwd=place, timeout=bounds.FILTERS)
        except GitError as error:
            log.warning("%s: submodules stay: %s", place, error.message)
            continue
        if said.code:
            told = printable(said.out.decode(errors="backslashreplace"))
            log.warning("%s: submodules stay: %s", place, told)


def _make_plain(place: str, paths: list[str]) -> None:
    """Takes away the files that say where the repository of a folder is; that one stays."""
    for path in paths:
        file = os.path.join(place, path, ".git")
        if os.path.isdir(file):
            continue  # the repository itself
        try:
            os.unlink(file)
        except OSError as error:
            log.warning("%s stays: %s", file, error)


def stayed(repo: Repository, branch: str, *, old: str, new: str) -> list[Stayed | Replaced]:
    """Lists the submodules that are as in the old commit still in checkouts of a branch."""
    try:
        return _stayed(repo, branch, old, new)
    except GitError as error:
        log.warning("%s: which submodules stay is not known: %s", branch, error.message)
        return []


def _stayed(repo: Repository, branch: str, old: str, new: str) -> list[Stayed | Replaced]:
    changes = index_entries.between(repo.dirs, old, new)
    links = [change for change in changes if change.old and change.old.mode == _GITLINK]
    moved = {
        os.fsdecode(change.path): change.old.oid.decode()
        for change in links
        if change.old and change.new and change.new.mode == _GITLINK
    }
    gone = {change.path for change in links if change.new is None}
    replaced = [os.fsdecode(path) for path in sorted(gone & _folders(changes))] if gone else []
    found: list[Stayed | Replaced] = []
    for place in places(repo, branch) if moved or replaced else ():
        if place != repo.root and not worktrees.is_of_person(repo, place):
            continue
        stays = [path for path, oid in moved.items() if _at(place, path) == oid]
        found += [Stayed(place, stays)] if stays else []
        taken = [path for path in replaced if os.path.lexists(os.path.join(place, path, ".git"))]
        found += [Replaced(place, taken)] if taken else []
    return found


def _folders(changes: Iterable[Change]) -> set[bytes]:
    """The folders in which something is new."""
    new = (change.path.split(b"/") for change in changes if change.new is not None)
    return {b"/".join(parts[:length]) for parts in new for length in range(1, len(parts))}


def _at(place: str, path: str) -> str | None:
    """The commit that a submodule is at; None where it has no files."""
    folder = os.path.join(place, path)
    is_filled = workspace_state.is_folder(folder) and os.path.lexists(os.path.join(folder, ".git"))
    if not is_filled:
        return None
    said = run(["rev-parse", "-q", "--verify", "HEAD"], cwd=folder, ok=(0, 1, 128))
    return said.out.decode().strip()
