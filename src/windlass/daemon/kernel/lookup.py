"""From what a request says to what it means: which repository, which agent, by whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from windlass.api.verbs import Caller
from windlass.core import crew, ids
from windlass.core.crew import Agent
from windlass.core.errors import Conflict, Denied, NotFound, UserError
from windlass.core.ids import RepoId, Uid
from windlass.daemon.kernel import operations, repos
from windlass.daemon.kernel.context import Context
from windlass.store import rows
from windlass.store.rows import Repo

HINT = "`wl list` shows who is there"
_NO_REPO = RepoId("unknown")


class Scope(NamedTuple):
    """Where a request is asked from, and by which agent, if by one."""

    repo: Repo | None
    caller: Agent | None
    is_unknown: bool = False
    """Whether it is asked from a git repository that Windlass does not know."""

    @property
    def repo_id(self) -> RepoId | None:
        """Whose agents, events and archives are meant; None, outside of any repository, is all.

        A repository that is not known has none of them.
        """
        return self.repo.id if self.repo else _NO_REPO if self.is_unknown else None

    def everywhere(self) -> Scope:
        """The same request, asked about all repositories."""
        return self._replace(repo=None, is_unknown=False)

    @property
    def caller_uid(self) -> Uid | None:
        """The calling agent as the store calls it; None is the person."""
        return self.caller.uid if self.caller else None

    def require_caller(self) -> Agent:
        """The calling agent, for what answers a verb that only agents may call."""
        if self.caller is None:
            raise AssertionError("the person calls what only agents may")
        return self.caller

    def require_repo(self) -> Repo:
        """The repository, or an error that says what to do."""
        if self.repo is None:
            raise UserError("not in a repository that Windlass knows", "cd into one, or `wl init`")
        return self.repo


def scope(context: Context, caller: Caller, request: Mapping[str, Any]) -> Scope:
    """Finds the repository and the calling agent of a request."""
    if caller.agent is not None:
        uid = caller.agent
        agent = context.store.read(lambda c: rows.agent(c, uid))
        if agent is None or agent.ended_at is not None:
            raise Denied("the calling agent has ended", "its socket means nothing any more")
        return Scope(repos.by_id(context, agent.repo), agent)
    cwd = request.get("cwd")
    if not cwd:
        return Scope(None, None)
    repo = repos.known(context, cwd)
    return Scope(repo, None, repo is None and repos.is_inside(cwd))


def root(context: Context, caller: Caller, request: Mapping[str, Any]) -> str | None:
    """The root of the repository that a request is asked from, known or not."""
    repo = scope(context, caller, request).repo
    return repo.root if repo else repos.root_of(request.get("cwd", ""))


def live(context: Context, scope: Scope) -> list[Agent]:
    """The live agents of the repository; outside of any, those of all."""
    return context.store.read(lambda c: rows.agents(c, repo=scope.repo_id))


def agent(context: Context, scope: Scope, wanted: str | None) -> Agent:
    """Finds a live agent by unique prefix; without one, the caller itself."""
    if wanted is None or wanted == "self":
        if scope.caller is None:
            raise UserError("which agent?", "name one; `wl list` shows who is there")
        return scope.caller
    present = live(context, scope)
    name = ids.match(wanted, [a.id for a in present], what="agent", hint=_hint(context, scope))
    named = [a for a in present if a.id == name]
    if len(named) > 1:
        raise UserError(f"{name!r} lives in {len(named)} repositories", "cd into the one you mean")
    return named[0]


def ended(context: Context, scope: Scope, wanted: str) -> Agent | None:
    """The newest ended agent of exactly that id."""
    return context.store.read(lambda c: rows.last_ended(c, wanted, repo=scope.repo_id))


def any_agent(context: Context, scope: Scope, wanted: str | None) -> Agent:
    """Finds a live agent, else an ended one of exactly that id."""
    try:
        return agent(context, scope, wanted)
    except NotFound:
        past = ended(context, scope, wanted or "")
        if past is None:
            raise
        return past


def reachable_agent(context: Context, scope: Scope, wanted: str | None, *, doing: str) -> Agent:
    """Finds a live agent, and refuses one that the caller may not do that to."""
    target = agent(context, scope, wanted)
    require_reachable(scope, target, live(context, scope), doing=doing)
    return target


def any_reachable_agent(context: Context, scope: Scope, wanted: str | None, *, doing: str) -> Agent:
    """Finds a live or ended agent, and refuses one that the caller may not do that to."""
    target = any_agent(context, scope, wanted)
    require_reachable(scope, target, live(context, scope), doing=doing)
    return target


def require_reachable(scope: Scope, target: Agent, present: list[Agent], *, doing: str) -> None:
    """Refuses an agent that wants to do something to what is neither it nor below it."""
    if scope.caller is None or scope.caller.uid in (target.uid, target.parent):
        return
    if target.uid not in {a.uid for a in crew.below(scope.caller, present)}:
        raise Denied(
            f"{scope.caller.id} may not {doing} {target.id}, which is not below it",
            "ask the person, or its manager",
        )


def refuse_ending(context: Context, agent: Agent) -> None:
    """Refuses to begin anything in the workspace of an agent that is about to be without one."""
    under_way = context.store.read(rows.open_intents)
    if any(operations.ends(intent, agent.uid) for intent in under_way):
        raise Conflict(f"{agent.id} is being ended", f"see how far that is: wl log {agent.id}")


def _hint(context: Context, scope: Scope) -> str:
    if scope.repo_id is None:
        return f"not in a repository; {HINT}"
    elsewhere = [a for a in context.store.read(rows.agents) if a.repo != scope.repo_id]
    if elsewhere:
        return f"{HINT}; `wl list --all` includes other repositories"
    return HINT
