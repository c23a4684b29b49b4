"""What faces see of agents: `wl list`, `wl info`, `wl status` and `wl why`. Reads only.

Their screens, their work and the log have modules of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
import sqlalchemy as sa

from windlass.api.verbs import Caller
from windlass.api.wire.request import AgentRequest
from windlass.api.wire.views import (
    AgentView,
    HeadView,
    InfoReply,
    ListRequest,
    ObservationView,
    PromptReply,
    SessionView,
    StateView,
    StatusReply,
    UncommittedView,
    WhyReply,
    WhyRequest,
    WorkView,
)
from windlass.core import crew, events, ids, states
from windlass.core.crew import Agent
from windlass.core.errors import WindlassError
from windlass.core.events import AgentState, UsageRefused
from windlass.core.ids import RepoId, Uid
from windlass.core.printable import printable
from windlass.core.states import State
from windlass.daemon.agents import limit_waits
from windlass.daemon.gate import green
from windlass.daemon.kernel import lookup, repos
from windlass.daemon.kernel.context import Context, session_name
from windlass.daemon.launch import instructions, session_request, setup_files
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.policy import denials
from windlass.git import repository
from windlass.git.repository import Commit, Repository
from windlass.git.status import WorkStatus
from windlass.store import rows

_REFUSED_SHOWN = 3
_WHY = 300
_DOING = "look into"
"""What an agent does to itself and those below it alone, as a refusal says it."""


class AgentViews:
    """Shows who is there, in which state and why, and what has been done by whom."""

    def __init__(
        self, context: Context, fetcher: CommitFetcher, denied: Callable[[Uid], str]
    ) -> None:
        self._context = context
        self._fetcher = fetcher
        self._denied_at_work = denied

    def agents(self, caller: Caller, request: ListRequest) -> list[AgentView]:
        """Lists agents in the order of the tree."""
        scope = lookup.scope(self._context, caller, request)
        if request.get("all_repos") and scope.caller is None:
            scope = scope.everywhere()
        repo = scope.repo_id
        ended = request.get("ended", False)
        return self._context.store.read(
            lambda c: self._listed(c, repo=repo, ended=ended, manager=request.get("manager"))
        )

    def _listed(
        self, connection: sa.Connection, *, repo: RepoId | None, ended: bool, manager: str | None
    ) -> list[AgentView]:
        live = rows.agents(connection, repo=repo)
        chosen = list(live)
        if ended:
            chosen += rows.agents(connection, repo=repo, ended=True)
        if manager is not None:
            top = ids.match(manager, [a.id for a in live], what="agent", hint=lookup.HINT)
            chosen = crew.below(next(a for a in live if a.id == top), live)
        names = rows.names(connection, (a.parent for a in chosen if a.parent is not None))
        now = self._context.clock.now()
        said = rows.all_observations(connection)
        return [
            self._shown(connection, agent, said.get(agent.uid, []), live=live, names=names, now=now)
            for _, agent in crew.forest(chosen)
        ]

    def _shown(
        self,
        connection: sa.Connection,
        agent: Agent,
        said: list[states.Observation],
        *,
        live: list[Agent],
        names: Mapping[Uid, str],
        now: float,
    ) -> AgentView:
        shown = _agent_view(agent, said, live=live, names=names, now=now)
        if stuck := self._stuck(agent):
            shown["stuck"] = stuck
        if denied := self._denied(connection, agent):
            shown["denied"] = denied
        if (due := limit_waits.due(connection, agent, said, clock=self._context.clock)) is not None:
            shown["goes_on_at"] = due
        return shown

    def _denied(self, connection: sa.Connection, agent: Agent) -> str:
        """Why a call was denied after which an agent came to rest, or again and again."""
        if agent.state is State.RUNNING:
            reason = self._denied_at_work(agent.uid)
        elif agent.state is State.WAITING and (found := denials.hindrance(connection, agent)):
            reason = found.reason
        else:
            return ""
        return " ".join(printable(reason).split())[:_WHY]

    def _stuck(self, agent: Agent) -> str:
        """Why an agent's commits do not come home, and what to do; nothing where they do."""
        failed = self._fetcher.failures.get(agent.uid) if agent.ended_at is None else None
        return _told(failed.error) if failed is not None else ""

    def info(self, caller: Caller, request: AgentRequest) -> InfoReply:
        """Everything about one agent."""
        scope = lookup.scope(self._context, caller, request)
        agent = lookup.any_reachable_agent(self._context, scope, request.get("agent"), doing=_DOING)
        seen = self._context.store.read(lambda c: self._view(c, agent))
        sessions = self._context.store.read(lambda c: rows.sessions(c, agent.uid))
        return {
            **seen,
            "base": agent.base,
            "base_from": agent.base_from,
            "policy": msgspec.to_builtins(agent.policy),
            "script": agent.script,
            "conversation": agent.conversation,
            "folder": str(self._context.folders.agent(agent.uid)),
            "port_base": crew.port_base(agent.slot),
            "tmux": session_name(agent),
            "transcript": self._transcript(agent),
            "pid": self._pid(agent),
            "limits": msgspec.to_builtins(agent.limits),
            "sessions": [_session(session) for session in sessions],
        }

    def _pid(self, agent: Agent) -> int | None:
        """The agent CLI's own process, while it runs."""
        folder = self._context.folders.session(agent.uid, agent.session)
        facts = self._context.sessions.facts(folder, session_name(agent))
        return facts.child_pid if facts.alive else None

    def _transcript(self, agent: Agent) -> str | None:
        if agent.session == 0 or agent.ended_at is not None:
            return None
        return session_request.transcript(self._context, agent)

    def prompt(self, caller: Caller, request: AgentRequest) -> PromptReply:
        """What an agent was told about itself and its crew."""
        scope = lookup.scope(self._context, caller, request)
        agent = lookup.any_reachable_agent(self._context, scope, request.get("agent"), doing=_DOING)
        return {"id": agent.id, "prompt": instructions.kept(self._context, agent)}

    def status(self, caller: Caller, request: AgentRequest) -> StatusReply:
        """An agent's commits and uncommitted work, or those of the whole crew."""
        scope = lookup.scope(self._context, caller, request)
        wanted = request.get("agent")
        if wanted is None and scope.caller is None:
            live = lookup.live(self._context, scope)
        else:
            live = [lookup.reachable_agent(self._context, scope, wanted, doing=_DOING)]
        repo = scope.repo
        return {
            "repo": repo.root if repo else None,
            "head": self._head(scope),
            "agents": self._work_of([agent for _, agent in crew.forest(live)]),
        }

    def _work_of(self, agents: list[Agent]) -> list[WorkView]:
        """The work of each; some at a time where there are several, which the person alone asks."""
        if len(agents) == 1:
            return [self._work(agents[0])]
        looks = self._context.pools.each("status", self._work, ((agent,) for agent in agents))
        return [look.result() for look in looks]

    def _head(self, scope: lookup.Scope) -> HeadView | None:
        if scope.repo is None:
            return None
        git = repos.git(scope.repo)
        return {
            "branch": repository.head_branch(git),
            "commit": repository.resolve(git, "HEAD"),
            "green": repository.read_ref(git, green.REF),
        }

    def _work(self, agent: Agent) -> WorkView:
        self._fetcher.try_to_fetch(agent)
        seen = self._context.store.read(lambda c: self._view(c, agent))
        git = repos.git(repos.by_id(self._context, agent.repo))
        try:
            tip = repository.resolve(git, f"refs/heads/{agent.branch}") if agent.branch else None
            if "stuck" not in seen and (missing := self._fetcher.missing(agent, tip)):
                seen["stuck"] = _told(missing)
            work, commits = self._changes(git, agent, tip)
            branch = None if tip else agent.branch
            branch_gone = branch is not None and not repository.branch_exists(git, branch)
        except WindlassError as error:
            # One agent whose repository is gone must not hide the others.
            unseen: WorkView = {
                **seen,
                "commits": [],
                "branch_gone": False,
                "work": None,
                "error": error.message,
            }
            return unseen
        return {
            **seen,
            "commits": [
                {"oid": c.oid, "subject": printable(c.subject), "at": c.time} for c in commits
            ],
            "branch_gone": branch_gone,
            "work": _uncommitted(work),
            "error": None,
        }

    def _changes(
        self, git: Repository, agent: Agent, tip: str | None
    ) -> tuple[WorkStatus, list[Commit]]:
        work = setup_files.work_status(self._context, agent)
        tip = tip or repository.resolve(git, work.head or "")
        if tip is None or tip == agent.base:
            return work, []
        return work, repository.commits_between(git, agent.base, tip, limit=50)

    def why(self, caller: Caller, request: WhyRequest) -> WhyReply:
        """The state of an agent, what decided it, and what else was said."""
        scope = lookup.scope(self._context, caller, request)
        agent = lookup.any_agent(self._context, scope, request.get("agent"))
        if request.get("history"):
            lookup.require_reachable(scope, agent, lookup.live(self._context, scope), doing=_DOING)
        if request.get("home") and agent.ended_at is None:
            self._fetcher.try_to_fetch(agent)
        now = self._context.clock.now()
        seen = self._context.store.read(lambda c: rows.observations(c, agent.uid))
        refused = self._context.store.read(lambda c: _refused(c, agent.uid))
        verdict = states.fold(seen, now=now)
        reply: WhyReply = {
            "id": agent.id,
            "state": "ended" if agent.ended_at else verdict.state,
            "ended_by": agent.ended_by,
            "winner": _observation(verdict.winner, now) if verdict.winner else None,
            "losers": [_observation(loser, now) for loser in verdict.losers],
            "refused": refused,
        }
        if stuck := self._stuck(agent):
            reply["stuck"] = stuck
        if request.get("history"):
            reply["history"] = self._history(agent)
        return reply

    def _history(self, agent: Agent) -> list[StateView]:
        """Every state that an agent has been in, oldest first, each with what said so."""
        first: StateView = {
            "at": agent.created_at,
            "state": State.CREATING,
            "source": states.Source.WINDLASS,
            "evidence": "created",
            "session": 0,
        }
        changes = self._context.store.read(
            lambda c: rows.events(c, agent=agent.uid, kind=AgentState.kind, limit=100_000)
        )
        later = [_change(event.at, events.read(AgentState, event)) for event in changes]
        return [first, *later]

    def _view(self, connection: sa.Connection, agent: Agent) -> AgentView:
        said = rows.observations(connection, agent.uid)
        live = rows.agents(connection, repo=agent.repo)
        names = rows.names(connection, () if agent.parent is None else (agent.parent,))
        now = self._context.clock.now()
        return self._shown(connection, agent, said, live=live, names=names, now=now)


def _told(error: WindlassError) -> str:
    """What keeps commits from coming home and what to do, in a line."""
    return " ".join(printable(f"{error.message}; {error.hint}").split())


def _refused(connection: sa.Connection, uid: Uid) -> list[str]:
    """The latest that an agent reported of itself and no agent CLI could have."""
    told = rows.events(connection, agent=uid, kind=UsageRefused.kind, last=_REFUSED_SHOWN)
    reports = [events.read(UsageRefused, event) for event in told]
    return [
        f"{report.reports} in its {report.source}, of what it spent: {printable(report.why)}"
        for report in reports
    ]


def _session(session: rows.Session) -> SessionView:
    """One session as faces see it: without its marks, which say how far our own readers are."""
    return {
        "agent": session.agent,
        "number": session.number,
        "marker": session.marker,
        "started_at": session.started_at,
        "ended_at": session.ended_at,
        "exit_code": session.exit_code,
        "events_offset": session.events_offset,
    }


def _uncommitted(work: WorkStatus) -> UncommittedView:
    return {
        "exists": work.exists,
        "branch": work.branch,
        "head": work.head,
        "staged": work.staged,
        "unstaged": work.unstaged,
        "untracked": work.untracked,
        "conflicted": work.conflicted,
        "nested": work.nested,
        "unread": work.unread,
        "setup": work.setup,
        "operation": work.operation,
        "clean": work.clean,
    }


def _agent_view(
    agent: Agent,
    said: list[states.Observation],
    *,
    live: list[Agent],
    names: Mapping[Uid, str],
    now: float,
) -> AgentView:
    """One agent as listings show it."""
    verdict = states.fold(said, now=now)
    winner = verdict.winner
    shown = AgentView(
        id=agent.id,
        uid=agent.uid,
        repo=agent.repo,
        role=agent.role,
        state="ended" if agent.ended_at else verdict.state if winner else agent.state,
        state_age=now - (winner.at if winner else agent.state_at),
        evidence=printable(winner.evidence) if winner else "",
        source=winner.source if winner else "none",
        parent=names.get(agent.parent) if agent.parent else None,
        parent_uid=agent.parent,
        children=sum(other.parent == agent.uid for other in live),
        branch=agent.branch,
        workspace=agent.workspace,
        driver=agent.driver,
        model=agent.model,
        mode=agent.mode,
        isolation=agent.isolation,
        network=agent.network,
        goal=agent.goal,
        slot=agent.slot,
        age=now - agent.created_at,
        created_at=agent.created_at,
        ended_at=agent.ended_at,
        ended_by=agent.ended_by,
    )
    if agent.persistent:
        shown["persistent"] = True
    if agent.readonly:
        shown["readonly"] = True
    if agent.task:
        shown["task"] = agent.task
    return shown


def _change(at: float, change: AgentState) -> StateView:
    return {
        "at": at,
        "state": change.now,
        "source": change.source,
        "evidence": printable(change.evidence),
        "session": change.session or 0,
    }


def _observation(seen: states.Observation, now: float) -> ObservationView:
    return {
        "source": seen.source,
        "value": seen.value,
        "at": seen.at,
        "evidence": seen.evidence,
        "reason": seen.reason.kind,
        "session": seen.session,
        "age": now - seen.at,
    }
