"""Watching sessions: what their hooks left behind, whether they live, and so their state.

Sessions leave files (events, an exit code) that are read by offset; a wake-up only says when to
look. So nothing is lost while no daemon runs, and nothing is read twice: the offset is kept in the
transaction that keeps what was read.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import msgspec

from windlass.core import states
from windlass.core.crew import Agent
from windlass.core.ids import Uid
from windlass.core.states import Observation, Source, State
from windlass.daemon.context import Context, session_name
from windlass.sessions.session import Facts
from windlass.store import rows
from windlass.store.rows import Session
from windlass.store.store import Writing

log = logging.getLogger(__name__)

_READ_AT_ONCE = 4 << 20
_KEPT_OF_A_FIELD = 4096
_SHOWN = (
    "tool_name",
    "tool_input",
    "prompt",
    "last_assistant_message",
    "error",
    "message",
    "source",
    "reason",
    "notification_type",
    "trigger",
)


class Watching:
    """Turns what sessions leave behind into observations, events and states."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._guards: dict[Uid, threading.Lock] = {}
        self._guard = threading.Lock()

    def look(self, uid: Uid) -> None:
        """Reads what is new about one agent. Safe from any thread, at any time, any number."""
        with self._guard:
            guard = self._guards.setdefault(uid, threading.Lock())
        with guard:
            found = self._context.store.read(lambda c: _current(c, uid))
            if found is None:
                return
            agent, session = found
            session = self._drain(agent, session)
            if session.started_at is not None and session.ended_at is None:
                self._take_facts(agent, session)

    def look_at_all(self) -> None:
        """Looks at every agent whose session is thought to live."""
        for uid in self._context.store.read(_open_sessions):
            try:
                self.look(uid)
            except Exception as error:
                # One agent's broken files must not blind us to the others, nor stop a start.
                log.exception("cannot look at %s", uid)
                self._context.store.write(partial(_tell_of_blindness, uid=uid, error=str(error)))

    def refold(self) -> None:
        """Lets states fade that nobody has confirmed for long."""
        for agent in self._context.store.read(rows.agents):
            if agent.state in (State.RUNNING, State.CREATING, State.COMPACTING):
                self._context.store.write(_settling(agent.uid))

    def _drain(self, agent: Agent, session: Session) -> Session:
        while self._take_events(agent, session):
            session = self._context.store.read(lambda c: rows.sessions(c, agent.uid))[0]
        return session

    def _take_events(self, agent: Agent, session: Session) -> bool:
        path = self._context.folders.events(agent.uid, session.number)
        lines, offset = _whole_lines(str(path), session.events_offset)
        if offset == session.events_offset:
            return False

        def change(writing: Writing) -> None:
            for line in lines:
                _take(writing, agent, session, line)
            kept = msgspec.structs.replace(session, events_offset=offset)
            rows.put_session(writing, kept)
            settle(writing, agent.uid)

        self._context.store.write(change)
        return True

    def _take_facts(self, agent: Agent, session: Session) -> None:
        folder = self._context.folders.session(agent.uid, session.number)
        facts = self._context.sessions.facts(folder, session_name(agent))
        if not facts.alive:
            # The last hooks may have written between our read and the end.
            latest = self._drain(agent, session)
            self._context.store.write(lambda w: record_end(w, agent, latest, facts))


def observe(writing: Writing, agent: Agent, seen: Observation) -> None:
    """Keeps an observation and the state that follows from it, in one transaction."""
    rows.put_observation(writing, agent.uid, seen)
    settle(writing, agent.uid)


def settle(writing: Writing, uid: Uid) -> None:
    """Folds the observations of an agent into its state; a change is an event."""
    agent = rows.agent(writing.connection, uid)
    if agent is None or agent.ended_at is not None:
        return
    verdict = states.fold(rows.observations(writing.connection, uid), now=writing.now)
    if verdict.state == agent.state:
        return
    winner = verdict.winner
    rows.put_agent(
        writing,
        msgspec.structs.replace(agent, state=verdict.state, state_at=writing.now),
    )
    writing.emit(
        "agent.state",
        repo=agent.repo,
        agent=uid,
        was=agent.state,
        now=verdict.state,
        source=winner.source if winner else "none",
        evidence=winner.evidence if winner else "",
    )


def record_end(writing: Writing, agent: Agent, session: Session, facts: Facts) -> None:
    """Records that a session is over, once."""
    fresh = next(
        s for s in rows.sessions(writing.connection, agent.uid) if s.number == session.number
    )
    if fresh.ended_at is not None:
        return
    ended = facts.exited_at or writing.now
    kept = msgspec.structs.replace(fresh, ended_at=ended, exit_code=facts.exit_code)
    rows.put_session(writing, kept)
    how = (
        "ended without a trace"
        if facts.exit_code is None
        else f"ended with exit code {facts.exit_code}"
    )
    writing.emit(
        "session.ended",
        repo=agent.repo,
        agent=agent.uid,
        session=session.number,
        exit_code=facts.exit_code,
        how=how,
    )
    seen = Observation(
        source=Source.PROCESS,
        value=State.STOPPED,
        at=ended,
        evidence=f"session {session.number} {how}",
        session=session.number,
    )
    observe(writing, agent, seen)


def _tell_of_blindness(writing: Writing, *, uid: Uid, error: str) -> None:
    writing.emit("agent.unreadable", agent=uid, error=error)


def _settling(uid: Uid) -> Callable[[Writing], None]:
    return lambda writing: settle(writing, uid)


def _current(connection: Any, uid: Uid) -> tuple[Agent, Session] | None:
    agent = rows.agent(connection, uid)
    sessions = rows.sessions(connection, uid)
    if agent is None or agent.ended_at is not None or not sessions:
        return None
    return agent, sessions[0]


def _open_sessions(connection: Any) -> list[Uid]:
    found = []
    for agent in rows.agents(connection):
        sessions = rows.sessions(connection, agent.uid)
        if sessions and sessions[0].ended_at is None:
            found.append(agent.uid)
    return found


def _whole_lines(path: str, offset: int) -> tuple[Iterable[bytes], int]:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - a plain read by offset
            file.seek(offset)
            data = file.read(_READ_AT_ONCE)
            while data and b"\n" not in data:
                more = file.read(_READ_AT_ONCE)
                if not more:
                    break
                data += more
    except FileNotFoundError:
        return [], offset
    whole = data.rfind(b"\n") + 1
    return data[:whole].splitlines(), offset + whole


def _take(writing: Writing, agent: Agent, session: Session, line: bytes) -> None:
    try:
        record = msgspec.json.decode(line)
        at = float(record["at"])
        event = record["event"]
        name = str(event["hook_event_name"])
    except (msgspec.DecodeError, KeyError, TypeError, ValueError):
        writing.emit(
            "hook.garbage",
            repo=agent.repo,
            agent=agent.uid,
            line=line[:_KEPT_OF_A_FIELD].decode(errors="replace"),
        )
        return
    shown = {key: _cut(event[key]) for key in _SHOWN if event.get(key) not in (None, "")}
    writing.emit(f"hook.{name}", repo=agent.repo, agent=agent.uid, at=at, **shown)
    seen = states.from_hook(event, at=at, session=session.number)
    if seen is not None:
        rows.put_observation(writing, agent.uid, seen)


def _cut(value: Any) -> Any:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return value if len(text) <= _KEPT_OF_A_FIELD else text[:_KEPT_OF_A_FIELD] + "…"
