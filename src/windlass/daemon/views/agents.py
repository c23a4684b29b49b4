"""What faces see: agents, logs, screens and reasons, as plain data. Reads only."""

from __future__ import annotations

import base64
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec
import sqlalchemy as sa

from windlass import drivers
from windlass.api.verbs import Caller
from windlass.api.wire.request import AgentRequest
from windlass.api.wire.views import (
    AgentView,
    AttachmentReply,
    DiffReply,
    DiffRequest,
    EventView,
    HeadView,
    InfoReply,
    ListRequest,
    LogRequest,
    LookReply,
    LookRequest,
    ObservationView,
    PlaceReply,
    PlaceRequest,
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
from windlass.core.errors import Conflict, NotFound, WindlassError
from windlass.core.events import AgentState
from windlass.core.ids import RepoId, Uid
from windlass.core.printable import keep_colour, printable, without_escapes
from windlass.core.sessions import OUTPUT, SCREEN
from windlass.core.states import State
from windlass.daemon.kernel import lookup, repos, settings
from windlass.daemon.kernel.context import Context, session_name
from windlass.daemon.launch import boxes, clones, instructions, session_request
from windlass.git import changes, repository, status
from windlass.git.repository import Commit, Repository
from windlass.git.status import WorkStatus
from windlass.store import rows
from windlass.store.store import Event

_TAIL_BYTES = 1 << 20
_LEAST_LINES = 40


class Views:
    """Answers every question that changes nothing."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def agents(self, caller: Caller, request: ListRequest) -> list[AgentView]:
        """Lists agents in the order of the tree."""
        scope = lookup.scope(self._context, caller, request)
        if request.get("all_repos") and scope.caller is None:
            scope = scope._replace(repo=None)
        repo = scope.repo.id if scope.repo else None
        if scope.repo is None and request.get("cwd") and not request.get("all_repos"):
            repo = self._none_unless_outside(request.get("cwd", ""))
        ended = request.get("ended", False)
        return self._context.store.read(
            lambda c: self._listed(c, repo=repo, ended=ended, manager=request.get("manager"))
        )

    def _none_unless_outside(self, cwd: str) -> RepoId | None:
        """In an unknown repository nothing is listed; outside of any, everything is."""
        inside = any((folder / ".git").exists() for folder in (Path(cwd), *Path(cwd).parents))
        return RepoId("unknown") if inside else None

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
        names = rows.names(connection)
        now = self._context.clock.now()
        said = rows.all_observations(connection)
        return [
            view(agent, said.get(agent.uid, []), live=live, names=names, now=now)
            for _, agent in crew.forest(chosen)
        ]

    def info(self, caller: Caller, request: AgentRequest) -> InfoReply:
        """Everything about one agent."""
        scope = lookup.scope(self._context, caller, request)
        agent = self._own(scope, lookup.any_agent(self._context, scope, request.get("agent")))
        seen = self._context.store.read(lambda c: self._one(c, agent))
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

    def prompt(self, caller: Caller, request: AgentRequest) -> PromptReply:
        """What an agent was told about itself and its crew."""
        scope = lookup.scope(self._context, caller, request)
        agent = self._own(scope, lookup.any_agent(self._context, scope, request.get("agent")))
        return {"id": agent.id, "prompt": instructions.kept(self._context, agent)}

    def status(self, caller: Caller, request: AgentRequest) -> StatusReply:
        """An agent's commits and uncommitted work, or those of the whole crew."""
        scope = lookup.scope(self._context, caller, request)
        wanted = request.get("agent")
        if wanted is None and scope.caller is None:
            live = lookup.live(self._context, scope)
        else:
            live = [self._own(scope, lookup.agent(self._context, scope, wanted))]
        repo = scope.repo
        return {
            "repo": repo.root if repo else None,
            "head": self._head(scope),
            "agents": [self._work(agent) for _, agent in crew.forest(live)],
        }

    def _head(self, scope: lookup.Scope) -> HeadView | None:
        if scope.repo is None:
            return None
        git = repos.git(scope.repo)
        return {
            "branch": repository.head_branch(git),
            "commit": repository.resolve(git, "HEAD"),
            "green": repository.resolve(git, "refs/windlass/green"),
        }

    def _work(self, agent: Agent) -> WorkView:
        seen = self._context.store.read(lambda c: self._one(c, agent))
        git = repos.git(repos.by_id(self._context, agent.repo))
        try:
            work, commits = self._changes(git, agent)
        except WindlassError as error:
            # One agent whose repository is gone must not hide the others.
            return {**seen, "commits": [], "work": None, "error": error.message}
        return {
            **seen,
            "commits": [
                {"oid": c.oid, "subject": printable(c.subject), "at": c.time} for c in commits
            ],
            "work": _uncommitted(work),
            "error": None,
        }

    def _changes(self, git: Repository, agent: Agent) -> tuple[WorkStatus, list[Commit]]:
        clones.try_to_fetch_commits(self._context, agent)
        work = status.status(git, agent.workspace)
        tip = repository.resolve(git, f"refs/heads/{agent.branch}") if agent.branch else work.head
        return work, repository.commits_between(git, agent.base, tip, limit=50) if tip else []

    def why(self, caller: Caller, request: WhyRequest) -> WhyReply:
        """The state of an agent, what decided it, and what else was said."""
        scope = lookup.scope(self._context, caller, request)
        agent = lookup.any_agent(self._context, scope, request.get("agent"))
        if request.get("history"):
            self._own(scope, agent)
        if request.get("home") and agent.ended_at is None:
            clones.try_to_fetch_commits(self._context, agent)
        now = self._context.clock.now()
        seen = self._context.store.read(lambda c: rows.observations(c, agent.uid))
        verdict = states.fold(seen, now=now)
        reply: WhyReply = {
            "id": agent.id,
            "state": "ended" if agent.ended_at else verdict.state,
            "ended_by": agent.ended_by,
            "winner": _observation(verdict.winner, now) if verdict.winner else None,
            "losers": [_observation(loser, now) for loser in verdict.losers],
        }
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

    def look(self, caller: Caller, request: LookRequest) -> LookReply:
        """What is on an agent's screen, or the last of what a stopped one printed."""
        scope = lookup.scope(self._context, caller, request)
        agent = self._own(scope, lookup.any_agent(self._context, scope, request.get("agent")))
        colour = request.get("colour", False)
        session = self._context.store.read(lambda c: rows.newest_session(c, agent.uid))
        if session is None:
            raise Conflict(f"{agent.id} has had no session yet", f"wl why {agent.id}")
        live = session.ended_at is None
        folder = self._folder(agent, session.number)
        lines = request.get("lines", 0)
        if agent.mode == "headless":
            said, raw = _said(agent, folder, lines)
            return {"id": agent.id, "live": live, "mode": agent.mode, "screen": said, "raw": raw}
        if live:
            text = self._context.sessions.terminal.capture(
                session_name(agent), scrollback=lines, colour=colour
            )
        else:
            text = _tail(folder, lines)
        shown = keep_colour(text) if colour else without_escapes(text)
        return {"id": agent.id, "live": live, "mode": agent.mode, "screen": shown}

    def _own(self, scope: lookup.Scope, agent: Agent) -> Agent:
        """Shows agents what they and those below them do; of the others only who and how."""
        lookup.require_reachable(scope, agent, lookup.live(self._context, scope), doing="look into")
        return agent

    def _folder(self, agent: Agent, number: int) -> Path:
        if agent.archive is None:
            return self._context.folders.session(agent.uid, number)
        return self._context.folders.archive / agent.archive / "sessions" / str(number)

    def log(self, caller: Caller, request: LogRequest) -> list[EventView]:
        """The log of an agent, or of the repository."""
        scope = lookup.scope(self._context, caller, request)
        wanted = request.get("agent")
        if wanted is None and scope.caller is not None:
            wanted = scope.caller.id
        agent = None
        if wanted:
            agent = self._own(scope, lookup.any_agent(self._context, scope, wanted))
        repo = scope.repo.id if scope.repo and agent is None else None
        events = self._context.store.read(
            lambda c: rows.events(
                c,
                after=request.get("after", 0),
                repo=repo,
                agent=agent.uid if agent else None,
                last=request.get("last"),
                limit=10_000,
            )
        )
        names = self.names()
        return [event_view(event, names) for event in events]

    def names(self) -> dict[Uid, str]:
        """What each agent, live or ended, is called."""
        return self._context.store.read(rows.names)

    def diff(self, caller: Caller, request: DiffRequest) -> DiffReply:
        """What an agent changed since its base, committed or not."""
        scope = lookup.scope(self._context, caller, request)
        agent = self._own(scope, lookup.agent(self._context, scope, request.get("agent")))
        git = repos.git(repos.by_id(self._context, agent.repo))
        clones.try_to_fetch_commits(self._context, agent)
        base = self._fork_point(git, agent)
        if request.get("folders"):
            config = settings.load(self._context.folders.home, git.root)
            into = tempfile.mkdtemp(prefix=f"wl-diff-{agent.id}-")
            try:
                changes.materialise(git, agent.workspace, base, into)
            except BaseException:
                shutil.rmtree(into, ignore_errors=True)
                raise
            return {"id": agent.id, "base": base, "folder": into, "tool": config.diff_tool}
        made = changes.diff(
            git,
            agent.workspace,
            base,
            stat=request.get("stat", False),
            color=request.get("colour", False),
        )
        return {"id": agent.id, "base": base, "diff": base64.b64encode(made).decode()}

    def _fork_point(self, git: Repository, agent: Agent) -> str:
        """Where the agent's branch left its parent's or the person's branch, as of now."""
        if agent.branch is None:
            return agent.base
        tip = repository.resolve(git, f"refs/heads/{agent.branch}")
        above = None
        if agent.parent is not None:
            uid = agent.parent
            above = self._context.store.read(lambda c: rows.agent(c, uid))
        onto = above.branch if above and above.branch else "HEAD"
        target = repository.resolve(git, onto)
        if tip is None or target is None:
            return agent.base
        fork = repository.merge_base(git, tip, target)
        if fork is None or not repository.is_ancestor(git, agent.base, fork):
            return agent.base
        return fork

    def place(self, caller: Caller, request: PlaceRequest) -> PlaceReply:
        """Where an agent works, and what a command run there should be told."""
        scope = lookup.scope(self._context, caller, request)
        agent = self._own(scope, lookup.agent(self._context, scope, request.get("agent")))
        if not Path(agent.workspace).is_dir():
            raise NotFound(
                f"{agent.workspace}, {agent.id}'s workspace, is gone",
                f"`wl resume {agent.id}` makes it again from its branch",
            )
        beside = session_request.beside_session(self._context, agent)
        terminal = request.get("terminal", False)
        box = boxes.prefix(self._context, agent, beside, what="exec", terminal=terminal)
        # Without a box the command has the person's own environment, and what an agent is told.
        env = beside.extra_env
        return {"id": agent.id, "path": agent.workspace, "env": env, "box": box}

    def attachment(self, caller: Caller, request: AgentRequest) -> AttachmentReply:
        """How a terminal attaches to an agent's session."""
        scope = lookup.scope(self._context, caller, request)
        agent = self._own(scope, lookup.agent(self._context, scope, request.get("agent")))
        if agent.mode == "headless":
            raise Conflict(
                f"{agent.id} is headless: there is no terminal to join",
                f"wl look {agent.id} shows what it says, wl log {agent.id} --follow what happens;"
                f" wl send {agent.id} '...' tells it more",
            )
        session = self._context.store.read(lambda c: rows.newest_session(c, agent.uid))
        if session is None or session.ended_at is not None:
            raise Conflict(
                f"{agent.id} is {agent.state}: there is no session to attach to",
                f"wl resume {agent.id} first, or wl look {agent.id} for the last of it",
            )
        terminal = self._context.sessions.terminal
        name = session_name(agent)
        return {
            "id": agent.id,
            "attach": terminal.attach_argv(name),
            "window": terminal.window_argv(name),
        }

    def _one(self, connection: sa.Connection, agent: Agent) -> AgentView:
        said = rows.observations(connection, agent.uid)
        live = rows.agents(connection, repo=agent.repo)
        names = rows.names(connection)
        return view(agent, said, live=live, names=names, now=self._context.clock.now())

    def _pid(self, agent: Agent) -> int | None:
        """The agent CLI's own process, while it runs."""
        folder = self._context.folders.session(agent.uid, agent.session)
        facts = self._context.sessions.facts(folder, session_name(agent))
        return facts.child_pid if facts.alive else None

    def _transcript(self, agent: Agent) -> str | None:
        if agent.session == 0 or agent.ended_at is not None:
            return None
        return session_request.transcript(self._context, agent)


def _session(session: rows.Session) -> SessionView:
    """Not its marks: how far our own readers are is nobody else's business."""
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
        "operation": work.operation,
        "clean": work.clean,
    }


def view(
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
    return shown


def event_view(event: Event, names: Mapping[Uid, str]) -> EventView:
    """One event as faces see it: the agent by the name that people know."""
    return EventView(
        id=event.id,
        at=event.at,
        kind=event.kind,
        repo=event.repo,
        agent=names.get(event.agent, event.agent) if event.agent else None,
        subject=_subject_view(event.subject, names),
        data=event.data,
    )


def _subject_view(subject: str | None, names: Mapping[Uid, str]) -> str | None:
    kind, _, name = (subject or "").partition(":")
    return f"{kind}:{names.get(Uid(name), name)}" if kind == "agent" else subject


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


def _tail(folder: Path, lines: int | None) -> str:
    """The last lines of what a session wrote; of a live one's log only what a screen would show."""
    path = next((p for p in (folder / SCREEN, folder / OUTPUT) if p.exists()), None)
    wanted = _end_of(path)[0].splitlines() if path else []
    return "\n".join(_last(wanted, lines))


def _said(agent: Agent, folder: Path, lines: int | None) -> tuple[str, str]:
    """What a headless session said, for people and as it stands."""
    path = folder / OUTPUT
    text, cut = _end_of(path) if path.exists() else ("", False)
    if cut:
        text = text.partition("\n")[2]
    raw = text.removesuffix("\n").split("\n")
    shown = drivers.dialect(agent.driver).shown(text)
    return "\n".join(_last(shown, lines)), without_escapes("\n".join(_last(raw, lines)))


def _last(lines: list[str], wanted: int | None) -> list[str]:
    return lines if wanted is None else lines[-max(wanted, _LEAST_LINES) :]


def _end_of(path: Path) -> tuple[str, bool]:
    """The end of a file, and whether there is more before it."""
    with path.open("rb") as file:
        start = max(0, path.stat().st_size - _TAIL_BYTES)
        file.seek(start)
        return file.read().decode(errors="replace"), start > 0
