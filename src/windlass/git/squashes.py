"""Landings that are one commit with one parent, and how they are known to hold what they squashed.

Git does not know that such a commit has the commits of a branch. So the merge that it stands for is
kept below `refs/windlass/squashed/`, and read in the place of the commit by whoever asks `seen`:
what landed is contained, compared and taken back there as after a merge. The person's own git,
remotes and clones see the one commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from windlass.git import repository

if TYPE_CHECKING:
    from windlass.git.merges import MergePlan
    from windlass.git.repository import Repository

_TOP = "refs/windlass/squashed/"


def seen(repo: Repository) -> Repository:
    """The repository as it would be, had each squashed landing been a merge."""
    return msgspec.structs.replace(repo, replaces=_TOP)


def keep(repo: Repository, plan: MergePlan) -> None:
    """Keeps the merge that a plan's commit stands for, with all that it has: before that lands."""
    repository.set_ref(repo, f"{_TOP}{plan.new}", plan.stands_for)


def is_one(repo: Repository, commit: str) -> bool:
    """Whether a commit is a squashed landing of ours."""
    return repository.read_ref(repo, f"{_TOP}{commit}") is not None
