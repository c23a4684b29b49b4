"""Agents whose turn a usage limit or a 429 ended: they are parked, and go on when it is over.

Nothing is remembered but what is in the store: that a limit stopped an agent, and what was said of
its end, are observations; that it was told to go on is a message. So a daemon that comes after
goes on where this one was. One agent goes on at a time: all at once would be at the limit again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

import sqlalchemy as sa

from windlass.api.daemon_record import EMERGENCY
from windlass.core import events, limit_reset, states
from windlass.core.crew import Agent
from windlass.core.errors import WindlassError
from windlass.core.events import AgentState
from windlass.core.ids import Uid
from windlass.core.mail.messages import WINDLASS, Message
from windlass.core.ports import Clock
from windlass.core.states import IDLE, Observation, State
from windlass.daemon.agents.pause_resume import PauseResume
from windlass.daemon.kernel import clock as clocks
from windlass.daemon.kernel import file_stat
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.launch import keyboard
from windlass.daemon.mail import from_windlass
from windlass.store import mailbox, rows
from windlass.store.store import Writing

log = logging.getLogger(__name__)

STAGGER = 15.0
"""Seconds between two agents that go on."""
_BACK = 50


class LimitWaits:
    """Looks now and then for an agent whose limit is over."""

    def __init__(self, context: Context, intents: Intents, pause_resume: PauseResume) -> None:
        self._context = context
        self._intents = intents
        self._pause_resume = pause_resume

    def look(self) -> None:
        """Has one agent go on, if any is due: of those the one that was told so longest ago."""
        clock = self._context.clock
        ended = file_stat.written_at(f"{self._context.folders.home}/{EMERGENCY}")
        waiting = self._context.store.read(lambda c: _waiting(c, clock, since=ended))
        for agent in waiting:
            message = self._context.store.write(partial(_tell, uid=agent.uid, clock=clock))
            if message is not None:
                self._go_on(agent, message)
                return

    def _go_on(self, agent: Agent, message: Message) -> None:
        """Makes sure that it can hear what it is told: a session that gave up is resumed."""
        session = self._context.store.read(lambda c: rows.newest_session(c, agent.uid))
        if session is not None and session.ended_at is None:
            if agent.mode == "live":
                keyboard.leave_limit_dialog(self._context, agent)
            return
        try:
            self._pause_resume.wake(self._intents, agent.uid, key=f"limit-{message.id}", by=None)
        except WindlassError as error:
            log.warning("%s does not go on after its limit: %s", agent.id, error.message)


def due(
    connection: sa.Connection, agent: Agent, said: Sequence[Observation], *, clock: Clock
) -> float | None:
    """When a parked agent is to go on; None for one that is not at a limit."""
    if agent.ended_at is not None or agent.state is not State.RATE_LIMITED:
        return None
    verdict = states.fold(said, now=clock.now())
    winner = verdict.winner
    if winner is None or not limit_reset.is_parked(winner):
        return None
    told = _told(connection, agent.uid)
    return limit_reset.due(
        winner,
        verdict.losers,
        pause=clock.real(limit_reset.back_off(len(told))),
        last_try=max((message.created_at for message in told), default=None),
        zones=clocks.zone,
    )


def _waiting(connection: sa.Connection, clock: Clock, *, since: float) -> list[Agent]:
    """The parked agents that are due: who was never told to go on, then who was longest ago.

    By when they are due only after that: who is at a limit again and again, and says that it is
    over, would hold back all others. Not those that were parked when the person ended everything:
    who goes on is then theirs to say.
    """
    limited = [a for a in rows.agents(connection) if a.state is State.RATE_LIMITED]
    parked = [agent for agent in limited if agent.state_at > since]
    if not parked:
        return []
    said, now = rows.all_observations(connection), clock.now()
    order: list[tuple[float, float, Uid, Agent]] = []
    for agent in parked:
        moment = due(connection, agent, said.get(agent.uid, ()), clock=clock)
        if moment is not None and moment <= now:
            last = max((m.created_at for m in _ever_told(connection, agent.uid)), default=0.0)
            order.append((last, moment, agent.uid, agent))
    return [agent for *_, agent in sorted(order, key=lambda entry: entry[:3])]


def _told(connection: sa.Connection, uid: Uid) -> list[Message]:
    """How often an agent was told to go on since a turn of it ended otherwise than at a limit."""
    changes = rows.events(connection, agent=uid, kind=AgentState.kind, last=_BACK)
    ended = [e.at for e in changes if events.read(AgentState, e).now in (*IDLE, State.ASKING)]
    since = max(ended, default=0.0)
    return [message for message in _ever_told(connection, uid) if message.created_at >= since]


def _ever_told(connection: sa.Connection, uid: Uid) -> list[Message]:
    return mailbox.inbox(
        connection, recipient=uid, sender=WINDLASS, topic=limit_reset.TOPIC, last=_BACK
    )


def _tell(writing: Writing, *, uid: Uid, clock: Clock) -> Message | None:
    """Tells an agent to go on, if it is still due in this transaction."""
    agent = rows.agent(writing.connection, uid)
    if agent is None:
        return None
    said = rows.observations(writing.connection, uid)
    moment = due(writing.connection, agent, said, clock=clock)
    if moment is None or moment > writing.now:
        return None
    return from_windlass.say(writing, agent, limit_reset.GO_ON, topic=limit_reset.TOPIC)
