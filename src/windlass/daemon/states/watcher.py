"""Looking at sessions: what their hooks left behind, whether they live, and so their state.

Sessions leave files (events, an exit code) that are read by offset; a wake-up only says when to
look. So nothing is lost while no daemon runs, and nothing is read twice: the offset is kept in the
transaction that keeps what was read.

A look reads only so much. Who left more is gone on with in turn, some of them at every pulse, and
its wake-ups mean nothing until then: however much one writes, the others are looked at.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from windlass.core.crew import Agent
from windlass.core.errors import Unavailable
from windlass.core.events import AgentUnreadable
from windlass.core.ids import Uid
from windlass.core.states import Observation, Source, State
from windlass.daemon.kernel.context import Context, session_name
from windlass.daemon.kernel.keyed_locks import KeyedLocks
from windlass.daemon.launch import boxes
from windlass.daemon.states import hook_source, observations
from windlass.daemon.states.output_source import Printed
from windlass.daemon.states.sources import Sources
from windlass.store import rows
from windlass.store.rows import Session
from windlass.store.store import Writing

log = logging.getLogger(__name__)

_COUNTED_AGAIN = 2
"""A conversation is written a moment after the last hook that tells of it; so many pulses later."""
_PARTS = 4
"""Of each file, in one look. A part takes some hundredths of a second, if it is full."""
_LAST_LOOKS = 4
"""At a session that is over, by somebody who cannot leave the rest for later."""
_CATCHING_UP = 1.0
"""Seconds of a pulse after which those of whom more is unread wait for the next one."""
_FIRST_LOOKS = 2.0
"""Seconds of a start, and whenever sessions come or go, for everybody together."""


class AgentWatcher:
    """Turns what sessions leave behind into observations, events and states."""

    def __init__(self, context: Context, sources: Sources) -> None:
        self._context = context
        self._sources = sources
        self._locks = KeyedLocks()
        self._to_count: dict[Uid, int] = context.memory.per_agent()
        self._behind: dict[Uid, None] = context.memory.per_agent()
        """Those of whom more is unread, in the order in which they are gone on with."""

    def look(self, uid: Uid) -> None:
        """Reads what is new about one agent. Safe from any thread, at any time, any number."""
        self._behind.pop(uid, None)
        with self._locks.holding([uid]):
            live = self._context.store.read(lambda c: rows.live_session(c, uid))
            if live is None:
                return
            agent, session = live
            if not self._sources.are_sound(agent, session):
                self._take_facts(agent, session, read=lambda: session)
                return
            session = self._drain(agent, session)
            if session.runs:
                self._take_sights(agent, session, self._glance(agent, session))
                # The last hooks may have written between our read and the end.
                self._take_facts(agent, session, read=partial(self._drain, agent, session))
        self._sources.fetch_commits(agent)
        self._sources.deliver_mail(agent)
        self._count(agent, session)
        self._to_count[uid] = _COUNTED_AGAIN

    def heed(self, uid: Uid) -> None:
        """Looks at an agent that woke us; one of whom more is unread has to wait for its turn."""
        if uid not in self._behind:
            self.look(uid)

    def try_to_look(self, uid: Uid) -> None:
        """Looks for somebody who has more to do: what goes wrong is recorded, not raised."""
        self._safely(uid, partial(self.look, uid))

    def look_at_the_end(self, uid: Uid) -> None:
        """Tries to read all that a session left which is over, unless that is far too much."""
        for _ in range(_LAST_LOOKS):
            self.try_to_look(uid)
            if uid not in self._behind:
                return

    def look_at_all(self) -> None:
        """Looks at every agent whose session is thought to live, some of them a little later."""
        clock = self._context.clock.unscaled
        end = clock.monotonic() + _FIRST_LOOKS
        for agent, _ in self._context.store.read(rows.open_sessions):
            if clock.monotonic() < end:
                self._safely(agent.uid, partial(self.heed, agent.uid))
            else:
                self._behind.setdefault(agent.uid)

    def pulse(self) -> None:
        """Notices what nobody is woken for: output, status files, screens."""
        for agent, session in self._context.store.read(rows.open_sessions):
            if session.started_at is None:
                continue
            if agent.uid not in self._behind:
                self._notice(agent, session)
            if agent.limits.seconds is not None:
                self._safely(agent.uid, partial(self._sources.enforce_time_limit, agent, session))
        self._catch_up()

    def _notice(self, agent: Agent, session: Session) -> None:
        if agent.mode == "live":
            self._safely(agent.uid, partial(self._peek, agent, session))
        elif agent.state is State.CREATING or self._sources.has_unread_output(agent, session):
            self.try_to_look(agent.uid)
        if (left := self._to_count.pop(agent.uid, 0)) > 0:
            self._safely(agent.uid, partial(self._count, agent, session))
            self._to_count.setdefault(agent.uid, left - 1)

    def _catch_up(self) -> None:
        """Goes on with those of whom more is unread; who is not done is the last of them then."""
        clock = self._context.clock.unscaled
        end = clock.monotonic() + _CATCHING_UP
        while clock.monotonic() < end and (uid := next(iter([*self._behind]), None)):
            self.try_to_look(uid)

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
            self._tell_of_blindness(uid, str(error))

    def _tell_of_blindness(self, uid: Uid, error: str) -> None:
        """Records that an agent could not be looked at, unless there is no room for that either."""
        try:
            self._context.store.write(partial(_tell_of_blindness, uid=uid, error=error))
        except Unavailable as why:
            log.warning("nor can that be recorded: %s", why.message)

    def _peek(self, agent: Agent, session: Session) -> None:
        with self._locks.holding([agent.uid]):
            seen = self._glance(agent, session)
            if not seen or self._sources.are_sound(agent, session):
                self._take_sights(agent, session, seen)

    def _glance(self, agent: Agent, session: Session) -> list[Observation]:
        return self._sources.glance(agent, session) if agent.mode == "live" else []

    def _take_sights(self, agent: Agent, session: Session, seen: list[Observation]) -> None:
        if not seen:
            if agent.state is State.CREATING:
                self._context.store.write(_settling(agent.uid))
            return

        def change(writing: Writing) -> None:
            for observation in seen:
                if not observations.is_known_limit(writing, agent, observation):
                    rows.put_observation(writing, agent.uid, observation)
            observations.settle(writing, agent.uid)

        self._drain(agent, session)  # what hooks said about the same moment comes first
        self._context.store.write(change)

    def _confirm(self, agent: Agent, session: Session) -> None:
        signs = self._sources.sign_of_life(agent, session)

        def change(writing: Writing) -> None:
            fresh = rows.session(writing.connection, agent.uid, session.number)
            if signs is not None and fresh.ended_at is None:
                seen = Observation(
                    source=Source.PROCESS,
                    value=State.RUNNING,
                    at=writing.now,
                    reason=signs,
                    session=session.number,
                )
                rows.put_observation(writing, agent.uid, seen)
            observations.settle(writing, agent.uid)

        self._context.store.write(change)

    def _drain(self, agent: Agent, session: Session) -> Session:
        if agent.mode == "live":
            return self._read_hooks(agent, session)
        # Output is looked at first and read last: what hooks said about it is there by then.
        printed = self._sources.printed(agent, session)
        if agent.state in (State.RATE_LIMITED, State.ASKING):
            for _ in range(_PARTS):
                session = self._sources.read_ahead(agent, session, printed)
                before, printed = printed, self._sources.printed(agent, session)
                if printed.size == before.size:
                    break
        return self._read_output(agent, self._read_hooks(agent, session), printed)

    def _read_hooks(self, agent: Agent, session: Session) -> Session:
        number = session.number
        for _ in range(_PARTS):
            if not hook_source.read_on(self._context, agent, session):
                return session
            session = self._context.store.read(lambda c: rows.session(c, agent.uid, number))
        self._behind[agent.uid] = None
        return session

    def _read_output(self, agent: Agent, session: Session, printed: Printed) -> Session:
        for _ in range(_PARTS):
            before, session = session, self._sources.read_output(agent, session, printed)
            if session is before:
                return session
        self._behind[agent.uid] = None
        return session

    def _count(self, agent: Agent, session: Session) -> None:
        for _ in range(_PARTS):
            if not self._sources.count(agent, session):
                return
        self._behind[agent.uid] = None

    def _take_facts(self, agent: Agent, session: Session, *, read: Callable[[], Session]) -> None:
        """Records the end of a session that is over, after whatever is to be read before that."""
        if not session.runs:
            return
        folder = self._context.folders.session(agent.uid, session.number)
        facts = self._context.sessions.facts(folder, session_name(agent))
        if not facts.alive:
            latest = read()
            boxes.forget_ways(self._context.folders.agent(agent.uid))
            self._context.store.write(lambda w: observations.record_end(w, agent, latest, facts))


def _tell_of_blindness(writing: Writing, *, uid: Uid, error: str) -> None:
    writing.emit(AgentUnreadable(error=error), agent=uid)


def _settling(uid: Uid) -> Callable[[Writing], None]:
    return lambda writing: observations.settle(writing, uid)
