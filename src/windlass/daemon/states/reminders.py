"""Reminding agents that are idle and not done, ever more seldom, and giving up after a few times.

Nothing is remembered but what is in the store: the reminders are messages, that we gave up is an
event. So a daemon that comes after goes on where this one was.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Literal

import sqlalchemy as sa

from windlass import drivers
from windlass.core import crew, events, reasons, states
from windlass.core.config import NudgeSettings
from windlass.core.crew import Agent
from windlass.core.dialect import HookMoment
from windlass.core.errors import WindlassError
from windlass.core.events import (
    AgentState,
    Hook,
    MessageReceived,
    NudgesOver,
    message_subject,
)
from windlass.core.ids import RepoId, Uid
from windlass.core.mail import messages as mail
from windlass.core.mail import reminders, reports
from windlass.core.mail.reminders import Moment, Rest
from windlass.core.states import State
from windlass.daemon.kernel import repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.mail import from_windlass, notices
from windlass.store import mailbox, rows
from windlass.store.store import Event, Writing

log = logging.getLogger(__name__)

_BACK = 50
_ARRIVED = ("delivered", "read", "acked")
_DEAF = (State.PAUSED, State.STOPPED)


class Reminders:
    """Looks for idle agents now and then. One of them costs some queries, none costs one."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def look(self) -> None:
        """Reminds whoever is due."""
        live = self._context.store.read(rows.agents)
        for agent in live:
            if agent.state is State.WAITING and agent.parent is not None:
                self._see_to(agent)

    def _see_to(self, agent: Agent) -> None:
        configured = self._configured(agent.repo)
        if configured is None or self._context.clock.now() - agent.state_at < configured.first:
            return
        now = self._context.clock.now()
        if self._context.store.read(lambda c: _step(c, agent.uid, configured, now)) is not None:
            self._context.store.write(partial(_take_step, uid=agent.uid, configured=configured))

    def _configured(self, repo: RepoId) -> NudgeSettings | None:
        try:
            root = repos.by_id(self._context, repo).root
            return settings.load(self._context.folders.home, root).nudges
        except WindlassError as error:
            log.warning("nobody is reminded in %s: %s", repo, error.message)
            return None


def tried(connection: sa.Connection, uid: Uid) -> list[Moment]:
    """The reminders since something else set an agent going."""
    messages = mailbox.inbox(connection, recipient=uid, last=_BACK)
    ours = [message for message in messages if _counts(message)]
    if not ours:
        return []
    sent = [Moment(m.created_at, "reminder", _sent_as(connection, m)) for m in ours]
    received = rows.events(connection, agent=uid, kind=MessageReceived.kind, last=2 * _BACK)
    numbers = {events.read(MessageReceived, event).id: event.id for event in received}
    woken = [
        Moment(message.delivered_at or message.created_at, "other", numbers.get(message.id, 0))
        for message in messages
        if not _is_reminder(message) and message.state in _ARRIVED
    ]
    return reminders.streak([*sent, *woken, *_own_doing(connection, uid), *_overs(connection, uid)])


def _sent_as(connection: sa.Connection, message: mail.Message) -> int:
    """The number of the event that a message was sent."""
    told = rows.events(connection, subject=message_subject(message.id), limit=1)
    return told[0].id if told else 0


def _counts(message: mail.Message) -> bool:
    """Whether it is a reminder that was not given up."""
    return _is_reminder(message) and message.state not in ("failed", "expired", "collapsed")


def _is_reminder(message: mail.Message) -> bool:
    """Whether Windlass itself sent it as a reminder: anybody may call a topic like that."""
    return message.sender == mail.WINDLASS and message.topic == reminders.TOPIC


def _own_doing(connection: sa.Connection, uid: Uid) -> list[Moment]:
    """When an agent said that it was done or waited, and when a person typed something."""
    changes = rows.events(connection, agent=uid, kind=AgentState.kind, last=_BACK)
    claims = [event for event in changes if _is_claim(events.read(AgentState, event))]
    return [Moment(event.at, "other", event.id) for event in (*claims, *_typed(connection, uid))]


def _typed(connection: sa.Connection, uid: Uid) -> list[Event]:
    """The prompts that came from a person, not from a message of somebody's."""
    agent = rows.agent(connection, uid)
    if agent is None:
        return []
    kind = Hook.kind_of(drivers.dialect(agent.driver).hook_names[HookMoment.PROMPT])
    prompts = rows.events(connection, agent=uid, kind=kind, last=_BACK)
    return [e for e in prompts if "[sent by " not in str(events.read(Hook, e).prompt or "")]


def _is_claim(change: AgentState) -> bool:
    return reports.is_claim(change.now, change.reason or "words")


def _overs(connection: sa.Connection, uid: Uid) -> list[Moment]:
    overs = rows.events(connection, agent=uid, kind=NudgesOver.kind, last=1)
    return [Moment(event.at, "over", event.id) for event in overs]


def _step(
    connection: sa.Connection, uid: Uid, configured: NudgeSettings, now: float
) -> Literal["reminder", "over"] | None:
    agent = rows.agent(connection, uid)
    if agent is None or agent.ended_at is not None:
        return None
    return reminders.step(
        _rest(connection, agent, now), now=now, first=configured.first, most=configured.most
    )


def _rest(connection: sa.Connection, agent: Agent, now: float) -> Rest:
    verdict = states.fold(rows.observations(connection, agent.uid), now=now)
    return Rest(
        state=agent.state if verdict.state is agent.state else State.UNKNOWN,
        reason=verdict.winner.reason if verdict.winner else reasons.UNKNOWN,
        since=agent.state_at,
        root=agent.parent is None,
        expects=expects(connection, agent),
        moments=tried(connection, agent.uid),
    )


def expects(connection: sa.Connection, agent: Agent) -> bool:
    """Whether something will set it going by itself: mail, an answer, or agents below it."""
    if mailbox.queued(connection, agent.uid):
        return True
    asked = mailbox.inbox(connection, sender=agent.uid, states=mail.OPEN)
    if any(message.kind == "question" for message in asked):
        return True
    return reports.at_work(crew.below(agent, rows.agents(connection, repo=agent.repo)))


def _take_step(writing: Writing, *, uid: Uid, configured: NudgeSettings) -> None:
    """Does what is due now, which may be less than what was due before this transaction."""
    step = _step(writing.connection, uid, configured, writing.now)
    agent = rows.agent(writing.connection, uid)
    if step is None or agent is None:
        return
    if step == "reminder":
        reason = _rest(writing.connection, agent, writing.now).reason
        from_windlass.say(writing, agent, reminders.reminder(reason), topic=reminders.TOPIC)
        return
    writing.emit(NudgesOver(reminders=configured.most), repo=agent.repo, agent=uid)
    text = reminders.unmoved(agent, configured.most)
    manager = rows.agent(writing.connection, agent.parent) if agent.parent else None
    if manager is None or manager.ended_at is not None or manager.state in _DEAF:
        notices.post(writing, agent.repo, agent.id, "waiting", text, agent=uid)
    else:
        from_windlass.say(writing, manager, text, topic=mail.state_of(agent.uid))
