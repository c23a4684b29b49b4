"""The commit that a new agent's branch begins at."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from windlass.api.wire.agents import SpawnRequest
from windlass.core.crew import Agent
from windlass.daemon.gate import green
from windlass.daemon.kernel import lookup, repos
from windlass.git import repository
from windlass.git.repository import Repository
from windlass.store.rows import Repo


def person_branch(repo: Repo, scope: lookup.Scope, request: SpawnRequest) -> str | None:
    """The branch that the person has checked out where they ask, or in the repository itself."""
    if scope.caller is not None:
        return repository.head_branch(repos.git(repo))
    return repos.current_branch(repo, request.get("cwd", repo.root))


class BranchStart(NamedTuple):
    """The commit that an agent's branch begins at, and how we came to that."""

    commit: str
    told: str


def find(
    git: Repository,
    head: str,
    parent: Agent | None,
    branch: str | None,
    *,
    proven: Callable[[str], str | None],
) -> BranchStart:
    """Where a new branch starts; `proven` gives the last good commit before a red one."""
    if parent is not None and parent.branch is not None:
        tip = repository.resolve(git, f"refs/heads/{parent.branch}")
        if tip is not None:
            return BranchStart(tip, f"{parent.id}'s branch {parent.branch}")
    tip, told = head, "HEAD (detached)"
    if branch is not None:
        tip, told = repository.resolve(git, f"refs/heads/{branch}") or head, f"HEAD ({branch})"
    if (before := proven(tip)) is not None:
        told = f"{green.REF}, the last proven commit: {branch or 'HEAD'} is red"
        return BranchStart(before, told)
    return BranchStart(tip, told)
