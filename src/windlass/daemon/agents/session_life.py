"""The life of an agent's session: recorded before it starts, started, stopped, or given up.

What a session is started with is `launch.session_request`'s. The daemon's main module opens sockets
on the event loop; services ask for it through `AgentSockets`.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
import sqlalchemy as sa

from windlass import drivers
from windlass.core import states
from windlass.core.crew import Agent
from windlass.core.dialect import Dialect
from windlass.core.driver_request import SessionRequest
from windlass.core.errors import Unavailable
from windlass.core.events import SessionAnew, SessionStarted
from windlass.core.ids import Uid
from windlass.core.reasons import Reason
from windlass.core.runs.part import Part
from windlass.core.session_launch import Remark
from windlass.core.sessions import Facts
from windlass.core.states import Observation, Source, State
from windlass.daemon.gate import gates
from windlass.daemon.kernel import repos, untrusted_files
from windlass.daemon.kernel.context import Context, session_name
from windlass.daemon.launch import boxes, instructions
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.launch.session_request import first_words, session_request
from windlass.daemon.policy import decisions
from windlass.daemon.states import observations, output_source
from windlass.store import rows
from windlass.store.rows import Session
from windlass.store.store import Writing

log = logging.getLogger(__name__)

_BEGINNING = 1 << 20
"""Bytes of a conversation in which its first message begins."""


class AgentSockets(Protocol):
    """Opens and closes the sockets over which an agent and its hooks reach the daemon."""

    def open(self, uid: Uid) -> None:
        """Opens them; safe to call again."""

    def close(self, uid: Uid) -> None:
        """Closes them; safe to call again."""


Look = Callable[[Uid], None]
"""Reads what is new about an agent, now, and to the end if that can be."""


class SessionLife:
    """Records, starts and stops the sessions of agents."""

    def __init__(
        self, context: Context, sockets: AgentSockets, fetcher: CommitFetcher, look: Look
    ) -> None:
        self._context = context
        self._sockets = sockets
        self._fetcher = fetcher
        self._look = look

    def begin(self, agent: Agent, part: Part | None = None) -> Agent:
        """Records a new session of an agent, before it is started; with what of a run it is for.

        Of an agent that a run leads a session is for what the one before was, if nothing is said.
        """

        def change(writing: Writing) -> Agent:
            now = rows.agent(writing.connection, agent.uid) or agent
            fresh = rows.change_agent(writing, agent.uid, session=now.session + 1)
            before = rows.newest_session(writing.connection, agent.uid)
            session = Session(
                agent=agent.uid,
                number=fresh.session,
                marker=str(uuid.uuid4()),
                marks=_carried(before.marks) if before else {},
                part=part or _continued(before),
                mode=now.mode,
            )
            rows.add_session(writing, session)
            seen = Observation(
                source=Source.WINDLASS,
                value=State.CREATING,
                at=writing.now,
                reason=Reason(kind="session_begun", session=fresh.session),
                session=fresh.session,
            )
            observations.observe(writing, fresh, seen)
            return rows.agent(writing.connection, agent.uid) or fresh

        return self._context.store.write(change)

    def start(self, agent: Agent) -> tuple[Remark, ...]:
        """Starts the session that was recorded last, unless it runs already; what is to be said."""
        remarks: tuple[Remark, ...] = ()
        session = self._context.store.read(lambda c: _begun(c, agent))
        folder = self._context.folders.session(agent.uid, session.number)
        self._sockets.open(agent.uid)
        # The files of a session that runs already are its own: they hold the port of its receiver.
        if not self._context.sessions.begun(folder, session_name(agent)):
            decisions.write_policy_file(self._context, agent)
            gate = gates.lines(self._context, repos.by_id(self._context, agent.repo))
            instructions.write(self._context, agent, gate=gate)
            request = msgspec.structs.replace(
                session_request(self._context, agent, session),
                was_cut_off=self._context.store.read(lambda c: _was_cut_off(c, agent, session)),
            )
            if agent.isolation == "box" and request.servers:
                seen = boxes.view(self._context, agent, request)
                request = msgspec.structs.replace(request, view=seen)
            driver = drivers.get(agent.driver)
            below = self._context.folders.agent(agent.uid)
            conversation = driver.transcript(request)
            if request.resume and not _is_begun(driver.dialect, conversation, below=below):
                request = _anew(self._context, agent, request)
            if not request.resume:
                words = first_words(self._context, agent, session)
                request = msgspec.structs.replace(request, prompt=words)
            launch = driver.launch(request)
            remarks = launch.remarks
            pays = driver.credential(request)
            self._context.store.write(
                lambda w: rows.change_session(w, agent.uid, session.number, credential=pays)
            )
            self._context.sessions.start(
                folder=folder,
                name=session_name(agent),
                launch=boxes.wrap(self._context, agent, request, launch),
                wake=self._context.folders.sockets(agent.uid) / "wake",
                marker=session.marker,
            )

        def change(writing: Writing) -> None:
            fresh = _begun(writing.connection, agent)
            if fresh.started_at is not None:
                return
            rows.change_session(writing, agent.uid, fresh.number, started_at=writing.now)
            event = SessionStarted(session=session.number, mode=agent.mode, driver=agent.driver)
            writing.emit(event, repo=agent.repo, agent=agent.uid)

        self._context.store.write(change)
        self._look(agent.uid)  # it may have ended before it counted as started
        return remarks

    def halt(self, agents: Sequence[Agent]) -> None:
        """Ends the sessions of several agents at the same time; `stop` proves and records each.

        Who stops first would work on for as long as the others take, one after the other.
        """
        newest = self._context.store.read(
            lambda c: [(agent, rows.newest_session(c, agent.uid)) for agent in agents]
        )
        halting = self._context.pools.each(
            "halt",
            self._halt,
            ((agent, session) for agent, session in newest if session is not None),
        )
        for halted in halting:
            if error := halted.exception():
                log.warning("a session could not be ended with the others: %s", error)

    def _halt(self, agent: Agent, session: Session) -> None:
        folder = self._context.folders.session(agent.uid, session.number)
        name = session_name(agent)
        self._context.sessions.stop(folder=folder, name=name, marker=session.marker)

    def stop(self, agent: Agent) -> None:
        """Stops an agent's session until its whole process tree is proven gone."""
        session = self._context.store.read(lambda c: rows.newest_session(c, agent.uid))
        if session is None:
            return
        folder = self._context.folders.session(agent.uid, session.number)
        report = self._context.sessions.stop(
            folder=folder, name=session_name(agent), marker=session.marker
        )
        if report.survivors:
            raise Unavailable(
                f"processes of {agent.id} would not end: {', '.join(report.survivors)}",
                "nothing was removed; end them and try again",
            )
        facts = self._context.sessions.facts(folder, session_name(agent))
        self._context.store.write(lambda w: observations.record_end(w, agent, session, facts))
        self._look(agent.uid)  # what it said and spent last
        boxes.clear(self._context, agent)
        boxes.forget_ways(self._context.folders.agent(agent.uid))
        self._fetcher.try_to_fetch(agent)

    def give_up(self, agent: Agent, why: str) -> None:
        """Records that the session that was begun last could not be started."""
        session = self._context.store.read(lambda c: _begun(c, agent))
        if session.started_at is None:
            boxes.forget_ways(self._context.folders.agent(agent.uid))
            facts = Facts(alive=False, reason=why)
            self._context.store.write(lambda w: observations.record_end(w, agent, session, facts))


def _was_cut_off(connection: sa.Connection, agent: Agent, session: Session) -> bool:
    """Whether its last turn may be unfinished.

    A CLI that is stopped right at a tool call may say that the turn is over, and not write it down.
    """
    last = states.last_report(rows.observations(connection, agent.uid), before=session.number)
    return last is None or last.value not in states.IDLE


def _continued(before: Session | None) -> Part | None:
    """What a session goes on with, where the one before was a part of a run."""
    if before is None or before.part is None:
        return None
    return msgspec.structs.replace(before.part, resumes=True)


def _carried(marks: dict[str, Any]) -> dict[str, Any]:
    """What the next session knows of the last: all but how far that one's own files were read."""
    return {name: mark for name, mark in marks.items() if name != output_source.MARK}


def _is_begun(dialect: Dialect, transcript: str, *, below: Path) -> bool:
    """Whether a conversation has a message: one without cannot be resumed.

    One is written down a moment after it was said, so whoever dies early leaves a file without.
    """
    try:
        begins = untrusted_files.read(transcript, most=_BEGINNING, below=below)
    except OSError:
        return False
    return len(begins) == _BEGINNING or any(map(dialect.is_message, begins.splitlines()))


def _anew(context: Context, agent: Agent, request: SessionRequest) -> SessionRequest:
    """Has a conversation start once more, under an id that nothing was kept under yet."""
    new = str(uuid.uuid4())
    lost = drivers.get(agent.driver).transcript(request)

    def change(writing: Writing) -> None:
        rows.change_agent(writing, agent.uid, conversation=new)
        event = SessionAnew(missing=lost, now=new)
        writing.emit(event, repo=agent.repo, agent=agent.uid)

    context.store.write(change)
    return msgspec.structs.replace(request, resume=False, session_id=new)


def _begun(connection: sa.Connection, agent: Agent) -> Session:
    """The session that was begun last, for those who come after that."""
    session = rows.newest_session(connection, agent.uid)
    if session is None:
        raise AssertionError(agent.uid)
    return session
