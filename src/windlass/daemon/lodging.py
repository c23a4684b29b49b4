"""What an agent lives in while it lives: its session, its sockets, its environment.

The daemon's main module opens sockets on the event loop; services ask for it through `Doors`.
"""

from __future__ import annotations

import sys
import uuid
from importlib import resources
from typing import Protocol

import msgspec

from windlass import drivers
from windlass.core import crew
from windlass.core.crew import Agent
from windlass.core.driving import SessionRequest
from windlass.core.errors import Unavailable
from windlass.core.ids import Uid
from windlass.core.states import Observation, Source, State
from windlass.daemon import repos, watching
from windlass.daemon.context import Context, session_name
from windlass.daemon.environment import for_session
from windlass.git import repository
from windlass.store import rows
from windlass.store.rows import Session
from windlass.store.store import Writing


class Doors(Protocol):
    """An agent's sockets, and the eyes behind them."""

    def open(self, uid: Uid) -> None:
        """Opens them; safe to call again."""

    def close(self, uid: Uid) -> None:
        """Closes them; safe to call again."""

    def look(self, uid: Uid) -> None:
        """Reads what is new about an agent, now."""


def environment(context: Context, agent: Agent) -> dict[str, str]:
    """What every process of an agent is told about itself."""
    repo = repos.by_id(context, agent.repo)
    env = {
        "WINDLASS_AGENT": agent.id,
        "WINDLASS_REPO": repo.root,
        "WINDLASS_SLOT": str(agent.slot),
        "WINDLASS_PORT_BASE": str(crew.port_base(agent.slot)),
    }
    if repository.identity(repos.git(repo)) is None:
        # Without an identity git refuses to commit; a fresh machine has none.
        for who in ("AUTHOR", "COMMITTER"):
            env[f"GIT_{who}_NAME"] = f"{agent.id} (windlass)"
            env[f"GIT_{who}_EMAIL"] = f"{agent.id}@windlass.invalid"
    return env


def begin_session(context: Context, agent: Agent) -> Agent:
    """Records a new session of an agent, before it is started."""

    def change(writing: Writing) -> Agent:
        now = rows.agent(writing.connection, agent.uid) or agent
        fresh = msgspec.structs.replace(now, session=now.session + 1)
        rows.put_agent(writing, fresh)
        session = Session(
            agent=agent.uid,
            number=fresh.session,
            marker=str(uuid.uuid4()),
        )
        rows.put_session(writing, session)
        seen = Observation(
            source=Source.WINDLASS,
            value=State.CREATING,
            at=writing.now,
            evidence=f"session {fresh.session} is being started",
            session=fresh.session,
        )
        watching.observe(writing, fresh, seen)
        return rows.agent(writing.connection, agent.uid) or fresh

    return context.store.write(change)


def start_session(context: Context, doors: Doors, agent: Agent) -> None:
    """Starts the session that was recorded last; does nothing if it runs already."""
    session = context.store.read(lambda c: rows.sessions(c, agent.uid))[0]
    folder = context.folders.session(agent.uid, session.number)
    doors.open(agent.uid)
    request = session_request(context, agent, session)
    launch = drivers.get(agent.driver).launch(request)
    context.sessions.start(
        folder=folder,
        name=session_name(agent),
        launch=launch,
        wake=context.folders.sockets(agent.uid) / "wake",
        marker=session.marker,
    )

    def change(writing: Writing) -> None:
        fresh = rows.sessions(writing.connection, agent.uid)[0]
        if fresh.started_at is not None:
            return
        rows.put_session(writing, msgspec.structs.replace(fresh, started_at=writing.now))
        writing.emit(
            "session.started",
            repo=agent.repo,
            agent=agent.uid,
            session=session.number,
            mode=agent.mode,
            driver=agent.driver,
        )

    context.store.write(change)
    doors.look(agent.uid)  # it may have ended before it counted as started


def session_request(context: Context, agent: Agent, session: Session) -> SessionRequest:
    """Everything that a driver needs to know to start or find a session."""
    resume = session.number > 1
    events = context.folders.events(agent.uid, session.number)
    sockets = context.folders.sockets(agent.uid)
    observe = resources.files("windlass.hooks") / "observe.py"
    request = SessionRequest(
        agent=agent.id,
        folder=str(context.folders.agent(agent.uid)),
        workspace=agent.workspace,
        session_id=agent.conversation,
        mode=agent.mode,
        hook=(sys.executable, "-I", "-S", str(observe), str(events), str(sockets / "wake")),
        prompt=None if resume else agent.goal,
        resume=resume,
        model=agent.model,
        allow=agent.policy.allow,
        deny=agent.policy.deny,
        yolo=agent.policy.yolo,
        script=agent.script,
        env=for_session(context.env, home=context.folders.home),
        extra_env={
            **environment(context, agent),
            "WINDLASS_SOCKET": str(sockets / "api"),
        },
    )
    if not resume:
        return request
    return _unless_unheard(agent, request)


def _unless_unheard(agent: Agent, request: SessionRequest) -> SessionRequest:
    """A conversation that was never written down cannot be resumed: it starts anew."""
    transcript = drivers.get(agent.driver).transcript(request)
    try:
        with open(transcript, "rb") as file:  # noqa: PTH123 - only to see whether it has anything
            heard = bool(file.read(1))
    except FileNotFoundError:
        heard = False
    if heard:
        return request
    return msgspec.structs.replace(request, resume=False, prompt=agent.goal)


def stop_session(context: Context, agent: Agent) -> None:
    """Stops an agent's session until its whole process tree is proven gone."""
    sessions = context.store.read(lambda c: rows.sessions(c, agent.uid))
    if not sessions:
        return
    session = sessions[0]
    folder = context.folders.session(agent.uid, session.number)
    report = context.sessions.stop(folder=folder, name=session_name(agent), marker=session.marker)
    if report.survivors:
        raise Unavailable(
            f"processes of {agent.id} would not end: {', '.join(report.survivors)}",
            "nothing was removed; end them and try again",
        )
    facts = context.sessions.facts(folder, session_name(agent))
    context.store.write(lambda w: watching.record_end(w, agent, session, facts))
