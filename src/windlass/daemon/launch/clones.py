"""Workspaces of agents, made as their isolation asks, and the mirror that clones call `origin`.

A boxed agent works in a clone; what it commits there comes home through `commit_fetcher`.
"""

from __future__ import annotations

from typing import Protocol

from windlass.core.crew import Agent
from windlass.core.ids import RepoId
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.git import mirror
from windlass.git.repository import Repository
from windlass.git.workspaces import Workspace


class MakeWorkspace(Protocol):
    """How `git.workspaces` makes a workspace."""

    def __call__(
        self, repo: Repository, *, path: str, branch: str, agent: str, origin: str | None
    ) -> Workspace:
        """Makes it; of a clone `origin` is the mirror."""


def make_workspace(context: Context, agent: Agent, make: MakeWorkspace) -> None:
    """Makes the workspace of an agent that has a branch, of the kind that its isolation asks for.

    `make` is `workspaces.create` with the agent's base, or `workspaces.ensure` for one that was
    deleted by hand.
    """
    if agent.branch is None:
        return
    make(
        repos.git(repos.by_id(context, agent.repo)),
        path=agent.workspace,
        branch=agent.branch,
        agent=agent.id,
        origin=refreshed_mirror(context, agent),
    )


def refreshed_mirror(context: Context, agent: Agent) -> str | None:
    """The mirror, up to date, that a boxed agent's clone has for `origin`; None for a worktree."""
    if agent.isolation != "box":
        return None
    refresh_mirror(context, agent.repo)
    return str(context.folders.mirror(agent.repo))


def refresh_mirror(context: Context, repo: RepoId) -> None:
    """Shows the repository's refs, as they are now, to its boxed agents."""
    known = repos.by_id(context, repo)
    if not repos.is_gone(known):
        mirror.refresh(repos.git(known), str(context.folders.mirror(repo)))
