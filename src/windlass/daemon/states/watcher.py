"""Watching sessions: what their hooks left behind, whether they live, and so their state.

Sessions leave files (events, an exit code) that are read by offset; a wake-up only says when to
look. So nothing is lost while no daemon runs, and nothing is read twice: the offset is kept in the
transaction that keeps what was read.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import PurePath
from typing import Any, Protocol

import msgspec

from windlass.core import states
from windlass.core.crew import Agent
from windlass.core.ids import Uid
from windlass.core.policy import tool_policy
from windlass.core.states import Observation, Source, State
from windlass.daemon.kernel import untrusted_files
from windlass.daemon.kernel.context import Context, session_name
from windlass.daemon.mail import questions
from windlass.daemon.states import reports
from windlass.sessions.session import Facts
from windlass.store import rows
from windlass.store.rows import Session
from windlass.store.store import Writing

log = logging.getLogger(__name__)

TOOLS = "tools"
"""The mark that counts an agent's tool calls, from session to session."""
_READ_AT_ONCE = 4 << 20
_LONGEST_LINE = 64 << 20
_LINES_AT_ONCE = 500
_COUNTED_AGAIN = 2
"""A conversation is written a moment after the last hook that tells of it; so many pulses later."""
_KEPT_OF_A_FIELD = 4096
_LONGEST_KIND = 48
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
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


class Senses(Protocol):
    """What there is to be known about a session, beside the events that its hooks leave."""

    def printed(self, agent: Agent, session: Session) -> Any:
        """How much a headless session has said by now."""

    def hear(self, agent: Agent, session: Session, printed: Any) -> Session:
        """Reads what a headless session had said by then."""

    def hear_ahead(self, agent: Agent, session: Session, printed: Any) -> Session:
        """Reads that as far as the end of a turn."""

    def glance(self, agent: Agent, session: Session) -> list[Observation]:
        """Sees what a live session shows."""

    def waiting(self, agent: Agent, session: Session) -> bool:
        """Whether there is something to hear."""

    def signs(self, agent: Agent, session: Session) -> str | None:
        """What shows that a session works on though it reports nothing, if anything does."""

    def count(self, agent: Agent, session: Session) -> None:
        """Counts what it has spent, and stops it where that is too much."""

    def bring(self, agent: Agent) -> None:
        """Has brought home what it has committed, without waiting for it."""

    def post(self, agent: Agent) -> None:
        """Sees to its mail, without waiting for it."""

    def time(self, agent: Agent, session: Session) -> None:
        """Stops it where its time is over."""


class Watching:
    """Turns what sessions leave behind into observations, events and states."""

    def __init__(self, context: Context, senses: Senses) -> None:
        self._context = context
        self._senses = senses
        self._guards: dict[Uid, threading.Lock] = {}
        self._to_count: dict[Uid, int] = {}
        self._guard = threading.Lock()

    def look(self, uid: Uid) -> None:
        """Reads what is new about one agent. Safe from any thread, at any time, any number."""
        with self._looking_at(uid):
            found = self._context.store.read(lambda c: _current(c, uid))
            if found is None:
                return
            agent, session = found
            session = self._drain(agent, session)
            if session.started_at is not None and session.ended_at is None:
                self._glance(agent, session)
                self._take_facts(agent, session)
        self._senses.bring(agent)
        self._senses.post(agent)
        self._senses.count(agent, session)
        self._to_count[uid] = _COUNTED_AGAIN

    def try_to_look(self, uid: Uid) -> None:
        """Looks for somebody who has more to do: what goes wrong is recorded, not raised."""
        self._safely(uid, partial(self.look, uid))

    def _looking_at(self, uid: Uid) -> threading.Lock:
        with self._guard:
            return self._guards.setdefault(uid, threading.Lock())

    def look_at_all(self) -> None:
        """Looks at every agent whose session is thought to live."""
        for agent, _ in self._context.store.read(rows.open_sessions):
            self.try_to_look(agent.uid)

    def pulse(self) -> None:
        """Notices what nobody is woken for: output, status files, screens."""
        for agent, session in self._context.store.read(rows.open_sessions):
            if session.started_at is None:
                continue
            if agent.mode == "live":
                self._safely(agent.uid, partial(self._peek, agent, session))
            elif agent.state is State.CREATING or self._senses.waiting(agent, session):
                self.try_to_look(agent.uid)
            if (left := self._to_count.pop(agent.uid, 0)) > 0:
                self._safely(agent.uid, partial(self._senses.count, agent, session))
                self._to_count.setdefault(agent.uid, left - 1)
            if agent.limits.seconds is not None:
                self._safely(agent.uid, partial(self._senses.time, agent, session))

    def refold(self) -> None:
        """Lets states fade that nobody has confirmed for long, unless there are signs of life."""
        for agent, session in self._context.store.read(rows.open_sessions):
            if agent.state in (State.RUNNING, State.CREATING, State.COMPACTING):
                self._safely(agent.uid, partial(self._confirm, agent, session))

    def _safely(self, uid: Uid, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            # One agent's broken files must not blind us to the others, nor stop a start.
            log.exception("cannot look at %s", uid)
            self._context.store.write(partial(_tell_of_blindness, uid=uid, error=str(error)))

    def _peek(self, agent: Agent, session: Session) -> None:
        with self._looking_at(agent.uid):
            self._glance(agent, session)

    def _glance(self, agent: Agent, session: Session) -> None:
        seen = self._senses.glance(agent, session) if agent.mode == "live" else []
        if not seen:
            if agent.state is State.CREATING:
                self._context.store.write(_settling(agent.uid))
            return

        def change(writing: Writing) -> None:
            for observation in seen:
                rows.put_observation(writing, agent.uid, observation)
            settle(writing, agent.uid)

        self._drain(agent, session)  # what hooks said about the same moment comes first
        self._context.store.write(change)

    def _confirm(self, agent: Agent, session: Session) -> None:
        signs = self._senses.signs(agent, session)

        def change(writing: Writing) -> None:
            fresh = rows.session(writing.connection, agent.uid, session.number)
            if signs is not None and fresh.ended_at is None:
                seen = Observation(
                    source=Source.PROCESS,
                    value=State.RUNNING,
                    at=writing.now,
                    evidence=signs,
                    session=session.number,
                )
                rows.put_observation(writing, agent.uid, seen)
            settle(writing, agent.uid)

        self._context.store.write(change)

    def _drain(self, agent: Agent, session: Session) -> Session:
        headless = agent.mode == "headless"
        # Output is looked at first and read last: what hooks said about it is there by then.
        printed = self._senses.printed(agent, session) if headless else None
        if headless and agent.state in (State.RATE_LIMITED, State.ASKING):
            before = None
            while printed != before:
                session = self._senses.hear_ahead(agent, session, printed)
                before, printed = printed, self._senses.printed(agent, session)
        while self._take_events(agent, session):
            session = self._context.store.read(lambda c: rows.sessions(c, agent.uid))[0]
        return self._senses.hear(agent, session, printed) if headless else session

    def _take_events(self, agent: Agent, session: Session) -> bool:
        path = self._context.folders.events(agent.uid, session.number)
        lines, offset = _whole_lines(str(path), session.events_offset)
        if offset == session.events_offset:
            return False

        def change(writing: Writing) -> None:
            taken = rows.session(writing.connection, agent.uid, session.number)
            if taken.events_offset != session.events_offset:
                return  # who gave us the session had it from before somebody else read on
            garbage: list[bytes] = []
            for line in lines:
                taken = _take(writing, agent, taken, line, garbage)
            if garbage:
                _tell_of_garbage(writing, agent, garbage)
            rows.put_session(writing, msgspec.structs.replace(taken, events_offset=offset))
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
    changed = msgspec.structs.replace(agent, state=verdict.state, state_at=writing.now)
    rows.put_agent(writing, changed)
    writing.emit(
        "agent.state",
        repo=agent.repo,
        agent=uid,
        was=agent.state,
        now=verdict.state,
        source=winner.source if winner else "none",
        evidence=winner.evidence if winner else "",
        session=winner.session if winner else 0,
    )
    reports.on_state(writing, agent, changed, winner.evidence if winner else "")


def record_end(writing: Writing, agent: Agent, session: Session, facts: Facts) -> None:
    """Records that a session is over, once."""
    fresh = rows.session(writing.connection, agent.uid, session.number)
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
    if facts.reason:
        how = "could not be started" if facts.exit_code is None else how
        how = f"{how}: {facts.reason}"
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


def _whole_lines(path: str, offset: int) -> tuple[Iterable[bytes], int]:
    try:
        with os.fdopen(untrusted_files.descriptor(path), "rb") as file:
            file.seek(offset)
            data = file.read(_READ_AT_ONCE)
            while data and b"\n" not in data and len(data) < _LONGEST_LINE:
                more = file.read(_READ_AT_ONCE)
                if not more:
                    break
                data += more
    except FileNotFoundError:
        return [], offset
    if len(data) >= _LONGEST_LINE and b"\n" not in data:
        return [data[:_READ_AT_ONCE]], offset + len(data)  # no hook says so much: it is garbage
    # Not all at once: others write as well, and one agent must not hold them up.
    lines = data[: data.rfind(b"\n") + 1].split(b"\n", _LINES_AT_ONCE)[:-1]
    return lines, offset + sum(len(line) + 1 for line in lines)


def _take(
    writing: Writing, agent: Agent, session: Session, line: bytes, garbage: list[bytes]
) -> Session:
    """Keeps one line of events; returns the session, with its tool calls counted."""
    try:
        record = msgspec.json.decode(line)
        at = float(record["at"])
        event = record["event"]
        name = str(event["hook_event_name"])
    except (msgspec.DecodeError, KeyError, TypeError, ValueError, RecursionError):
        garbage.append(line)
        return session
    shown = {key: _cut(event[key]) for key in _SHOWN if event.get(key) not in (None, "")}
    if name == "PolicyDecision":
        shown = _denial(event)
        if shown.get("tool_name") == tool_policy.QUESTION:
            questions.record(writing, agent, questions.spelled(shown.get("tool_input")))
    writing.emit(f"hook.{name}"[:_LONGEST_KIND], repo=agent.repo, agent=agent.uid, at=at, **shown)
    if name == "PreToolUse":
        marks = {**session.marks, TOOLS: session.marks.get(TOOLS, 0) + 1}
        session = msgspec.structs.replace(session, marks=marks)
    if name == "SessionStart":
        _follow_conversation(writing, agent, event)
        if agent.fork_of is not None and session.number == 1 and event.get("source") == "resume":
            event = {**event, "source": "startup"}  # another's conversation, but a goal of its own
    if name == "PermissionRequest" and agent.mode == "headless":
        return session  # it asks over its output, and may have its answer before the hook speaks
    seen = states.from_hook(event, at=at, session=session.number)
    if seen is not None:
        if name == "SessionStart":
            seen = states.resumed(seen, rows.observations(writing.connection, agent.uid))
        tools = session.marks.get(TOOLS, 0)
        # One by one: a short turn may be read at once, and its history shall have all of it.
        observe(writing, agent, states.claimed(seen, tools=tools))
    return session


def _tell_of_garbage(writing: Writing, agent: Agent, lines: list[bytes]) -> None:
    """One event for all of it: who writes a million of them must not fill the log."""
    shown = lines[0][:_KEPT_OF_A_FIELD].decode(errors="replace")
    writing.emit("hook.garbage", repo=agent.repo, agent=agent.uid, line=shown, lines=len(lines))


def _denial(event: Mapping[str, Any]) -> dict[str, Any]:
    """What was denied, whole: a person may want to allow exactly that."""
    asked, answered = event.get("asked"), event.get("answered")
    said = answered.get("hookSpecificOutput") if isinstance(answered, Mapping) else None
    said = said if isinstance(said, Mapping) else {}
    decision = said.get("decision")
    message = decision.get("message") if isinstance(decision, Mapping) else None
    shown = {
        "by": event.get("by"),
        "hook": said.get("hookEventName"),
        "reason": said.get("permissionDecisionReason") or message,
    }
    if not isinstance(asked, Mapping):
        return {**shown, "asked": asked}
    called = {name: asked.get(name) for name in ("tool_name", "tool_input", "cwd")}
    return {**shown, **called}


def _follow_conversation(writing: Writing, agent: Agent, event: Mapping[str, Any]) -> None:
    """A person who types /clear goes on in a new conversation; that is the one to resume."""
    said = event.get("session_id")
    now = rows.agent(writing.connection, agent.uid)
    if now is None or not isinstance(said, str) or not _UUID.fullmatch(said):
        return
    if agent.fork_of is not None and PurePath(agent.fork_of).stem == said:
        return  # a fork starts by naming the conversation that it takes over, not its own
    if said != now.conversation:
        rows.put_agent(writing, msgspec.structs.replace(now, conversation=said))
        writing.emit("agent.conversation", repo=agent.repo, agent=agent.uid, now=said)


def _cut(value: Any) -> Any:
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return value if len(text) <= _KEPT_OF_A_FIELD else text[:_KEPT_OF_A_FIELD] + "…"
