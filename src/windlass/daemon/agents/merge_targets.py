"""Which branch a merge by hand goes into, and which of them its caller may move."""

from __future__ import annotations

from windlass.core import crew
from windlass.core.crew import Agent
from windlass.core.errors import Conflict, Denied, NotFound, UserError
from windlass.core.printable import printable_line
from windlass.daemon.kernel import lookup, repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.lookup import Scope
from windlass.git import repository
from windlass.git.repository import Repository
from windlass.store.rows import Repo


class MergeTargets:
    """Finds the branch that an agent's work is merged into."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def find(self, scope: Scope, agent: Agent, named: str | None, cwd: str) -> str:
        """The branch to merge into, and that the caller may: a person may merge into any."""
        live = lookup.live(self._context, scope)
        into = self._target(scope, agent, named, cwd, live)
        if scope.caller is not None:
            self._refuse_stranger(scope.caller, into, live)
        return into

    def _target(
        self, scope: Scope, agent: Agent, named: str | None, cwd: str, live: list[Agent]
    ) -> str:
        """The branch that is meant: the one named, the parent's, or the checked-out one."""
        repo = repos.by_id(self._context, agent.repo)
        git = repos.git(repo)
        if named is not None:
            return self._named(git, scope, agent, named)
        branch = usual_target(repo, agent, live, cwd)
        if branch is None:
            raise UserError(
                f"HEAD of {git.root} is detached, so there is no branch to merge into",
                "name one: wl merge AGENT --into BRANCH",
            )
        return branch

    def _refuse_stranger(self, caller: Agent, into: str, live: list[Agent]) -> None:
        """Refuses an agent every branch but its own and those of agents below it."""
        own = caller.branch or repos.current_branch(
            repos.by_id(self._context, caller.repo), caller.workspace
        )
        allowed = [a.branch for a in crew.below(caller, live) if a.branch is not None]
        allowed = [own, *allowed] if own is not None else allowed
        if into not in allowed:
            raise Denied(
                f"{caller.id} may not merge into {printable_line(into)}: agents merge into their"
                " own branch and into those of agents below them",
                f"merge into {' or '.join(allowed) or 'a branch of an agent below'},"
                " or ask the person",
            )

    def _named(self, git: Repository, scope: Scope, agent: Agent, named: str) -> str:
        if repository.branch_exists(git, named):
            target = named
        else:
            target = branch_of(self._agent_named(scope, named))
        if target == agent.branch:
            raise UserError(f"{target} cannot be merged into itself", "name another branch")
        return target

    def _agent_named(self, scope: Scope, named: str) -> Agent:
        try:
            return lookup.agent(self._context, scope, named)
        except NotFound:
            raise NotFound(
                f"no branch and no agent {named!r}",
                f"`git branch {named}` makes the branch; `wl list` shows the agents",
            ) from None


def usual_target(repo: Repo, agent: Agent, live: list[Agent], cwd: str) -> str | None:
    """The branch that an agent's work goes to where none is named: its parent's, or the person's.

    None where HEAD is detached.
    """
    parent = next((a for a in live if a.uid == agent.parent), None)
    if parent is not None and parent.branch is not None:
        return parent.branch
    return repos.current_branch(repo, cwd)


def branch_of(agent: Agent) -> str:
    """The branch that an agent's work is on, which an agent in the person's checkout lacks."""
    if agent.branch is None:
        raise Conflict(
            f"{agent.id} works in your own checkout and has no branch",
            "its commits are where you are already",
        )
    return agent.branch
