"""Branches that intents move, and what can be said of one whose intent no daemon survived."""

from __future__ import annotations

from typing import NamedTuple

from windlass.core.errors import WindlassError
from windlass.core.ids import RepoId
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.git import repository


class BranchMove(NamedTuple):
    """A branch that an intent moves: from which commit to which, once that is recorded."""

    branch: str
    old: str | None
    new: str | None


def state(context: Context, repo: RepoId, move: BranchMove) -> str:
    """Says where a branch is now, by what was recorded before it was to be moved."""
    branch, old, new = move
    if old is None or new is None:
        return f"{branch} was not moved"
    planned = f"from {old[:10]} to {new[:10]}"
    try:
        git = repos.git(repos.by_id(context, repo))
        now = repository.read_ref(git, f"refs/heads/{branch}")
        went_on = now is not None and repository.is_ancestor(git, new, now)
    except WindlassError as error:
        return f"{branch} was to be moved {planned}, and cannot be read: {error.message}"
    if now == new:
        return f"{branch} was moved {planned}"
    if now == old:
        return f"{branch} was not moved: it was to be, {planned}"
    if now is None:
        return f"{branch} was to be moved {planned}, and is not there any more"
    moved = "was moved" if went_on else "was to be moved"
    return f"{branch} {moved} {planned}, and is at {now[:10]} by now"
