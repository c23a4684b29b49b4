"""What becomes of messages: every receipt with its event, in the transaction of its caller."""

from __future__ import annotations

import secrets
from typing import Literal, NamedTuple

import msgspec
import sqlalchemy as sa

from windlass.core.crew import Agent
from windlass.core.events import (
    EventData,
    MessageAcked,
    MessageCollapsed,
    MessageExpired,
    MessageFailed,
    MessageRead,
    MessageReceived,
    MessageRevived,
    MessageSent,
)
from windlass.core.ids import MESSAGE, RepoId, Uid
from windlass.core.mail import messages as mail
from windlass.core.mail.messages import USER, WINDLASS, Kind, Message
from windlass.store import mailbox, noticeboard, rows
from windlass.store.store import Writing


class Party(NamedTuple):
    """Whom a message is from or to: a uid and an id, which for the person are the same."""

    uid: str
    id: str


_Ending = Literal["failed", "expired", "collapsed"]
"""What becomes of a message that never arrives, or is of no use any more."""
PERSON = Party(USER, USER)
OURSELVES = Party(WINDLASS, WINDLASS)


def manager_or_person(connection: sa.Connection, agent: Agent) -> Party:
    """Whom an agent answers to: its manager, or the person."""
    manager = rows.agent(connection, agent.parent) if agent.parent else None
    if manager is None or manager.ended_at is not None:
        return PERSON
    return Party(manager.uid, manager.id)


def draft(repo: RepoId, sender: Party, to: Party, body: str, *, kind: Kind, now: float) -> Message:
    """A message that nobody has sent yet."""
    return Message(
        id=f"{MESSAGE}{secrets.token_hex(5)}",
        repo=repo,
        sender=sender.uid,
        sender_id=sender.id,
        recipient=to.uid,
        recipient_id=to.id,
        kind=kind,
        body=body,
        created_at=now,
    )


def post(writing: Writing, message: Message) -> Message:
    """Keeps a message; what only repeats or outdates another becomes one with it."""
    waiting = mailbox.queued(writing.connection, message.recipient)
    twin = mail.twin(waiting, message)
    if twin is not None:
        message = msgspec.structs.replace(
            message,
            state="collapsed",
            survivor=twin.id,
            reason=f"the same as {twin.id}, which waits",
            ended_at=writing.now,
        )
    kept = mailbox.add(writing, message)
    sent = MessageSent(id=kept.id, to=kept.recipient_id, recipient=kept.recipient, text=kept.body)
    _emit(writing, kept, sent, of=message.sender)
    if twin is not None:
        _emit(writing, kept, MessageCollapsed(id=kept.id, into=twin.id), of=message.recipient)
        return kept
    for old in mail.outdated(waiting, kept):
        _end(writing, old, "collapsed", f"{kept.id} says what is true now", survivor=kept.id)
    return kept


def delivered(writing: Writing, message: Message, route: mail.Route) -> Message:
    """Records that a message is where it was sent to."""
    changed = mailbox.change(
        writing, message, state="delivered", route=route, delivered_at=writing.now, reason=""
    )
    received = MessageReceived(
        id=message.id,
        sender=message.sender_id,
        text=message.body,
        route=route,
        seconds=round(writing.now - message.created_at, 3),
    )
    _emit(writing, changed, received, of=message.recipient)
    return changed


def mark_read(writing: Writing, message: Message) -> Message:
    """Records that the recipient has gone on after it had a message."""
    read = MessageRead(id=message.id, sender=message.sender_id)
    _emit(writing, message, read, of=message.recipient)
    return mailbox.change(writing, message, state="read", read_at=writing.now, offer=None)


def acknowledge(writing: Writing, message: Message, *, by: Party) -> bool:
    """Records that a message was dealt with; False where that is known, or it has not arrived.

    An agent's is delivered all the same, however it came to know of it: only the person, who has
    no conversation of its own and may answer for everybody, may have dealt with what is queued.
    """
    fresh = mailbox.find(writing.connection, message.id)
    if fresh is None or fresh.state not in mail.OPEN:
        return False
    if fresh.state == "queued" and by != PERSON:
        return False
    mailbox.change(writing, fresh, state="acked", acked_at=writing.now, offer=None)
    noticeboard.withdraw(writing, fresh.id)
    _emit(writing, fresh, MessageAcked(id=fresh.id, by=by.id), of=message.recipient)
    return True


def fail(writing: Writing, message: Message, reason: str) -> None:
    """Records that a message will never arrive, and why."""
    _end(writing, message, "failed", reason)


def expire(writing: Writing, messages: list[Message]) -> None:
    """Records that messages were not delivered in time."""
    for message in messages:
        fresh = mailbox.find(writing.connection, message.id)
        if fresh is not None and fresh.state == "queued" and fresh.offer is None:
            _end(writing, fresh, "expired", "it was not delivered before its time was over")


def withdraw(writing: Writing, recipient: Uid, topic: str, reason: str) -> None:
    """Gives up what we ourselves said to an agent on a topic, and what it has not had yet."""
    for message in mailbox.queued(writing.connection, recipient):
        if message.sender == WINDLASS and message.topic == topic:
            _end(writing, message, "expired", reason)


def close_mail_of(writing: Writing, agent: Agent, how: str) -> list[Message]:
    """Gives up what waits for an agent that has ended, and what was to be told of its state.

    What it asked nobody has to answer; what it was asked is asked of who is above it. Returns that.
    """
    heir = manager_or_person(writing.connection, agent)
    for message in mailbox.questions(writing.connection, sender=agent.uid):
        _end(writing, message, "expired", f"{agent.id}, who asked, has ended: {how}")
    asked = mailbox.questions(writing.connection, recipient=agent.uid)
    passed_on = [
        _ask_instead(writing, question, heir, f"{agent.id} has ended") for question in asked
    ]
    for message in mailbox.queued(writing.connection, agent.uid):
        fail(writing, message, f"{agent.id} has ended: {how}")
    for message in mailbox.ours_on(writing.connection, mail.state_of(agent.uid)):
        _end(writing, message, "expired", f"{agent.id} has ended meanwhile: {how}")
    return passed_on


def readdress_questions(writing: Writing, agent: Agent) -> list[Message]:
    """Asks what an agent has asked of whoever it answers to now, if that is another; returns that.

    What it asked is the business of who leads it.
    """
    boss = manager_or_person(writing.connection, agent)
    asked = mailbox.questions(writing.connection, sender=agent.uid)
    misdirected = [question for question in asked if question.recipient != boss.uid]
    return [
        _ask_instead(writing, question, boss, f"{agent.id} has moved") for question in misdirected
    ]


def revive_mail_of(writing: Writing, agent: Agent, since: float) -> list[Message]:
    """Takes back what was given up when an agent ended, now that it lives again; returns that."""
    return [
        _revive(writing, message)
        for message in mailbox.lost_with(writing.connection, agent.uid, since)
    ]


def _revive(writing: Writing, message: Message) -> Message:
    state: mail.Receipt = "queued"
    if message.delivered_at is not None:
        state = "delivered" if message.read_at is None else "read"
    revived = mailbox.change(writing, message, state=state, reason="", ended_at=None)
    _emit(writing, revived, MessageRevived(id=revived.id), of=message.recipient)
    return revived


def _ask_instead(writing: Writing, question: Message, to: Party, why: str) -> Message:
    asker = Party(question.sender, question.sender_id)
    again = draft(question.repo, asker, to, question.body, kind="question", now=writing.now)
    posted = post(writing, again)
    why = f"{why}, and {to.id} is asked instead"
    _end(writing, question, "collapsed", why, survivor=posted.survivor or posted.id)
    return posted


def _end(
    writing: Writing,
    message: Message,
    state: _Ending,
    reason: str,
    *,
    survivor: str | None = None,
) -> None:
    """Gives a message up. Its offer is kept: if it is revived, the conversation may have it."""
    mailbox.change(
        writing,
        message,
        state=state,
        reason=reason,
        survivor=survivor,
        ended_at=writing.now,
    )
    noticeboard.withdraw(writing, message.id)
    match state:
        case "failed":
            ended: EventData = MessageFailed(id=message.id, reason=reason)
        case "expired":
            ended = MessageExpired(id=message.id, reason=reason)
        case "collapsed":
            ended = MessageCollapsed(id=message.id, reason=reason, into=survivor)
    _emit(writing, message, ended, of=message.recipient)


def _emit(writing: Writing, message: Message, event: EventData, *, of: str) -> None:
    """Puts an event into the log of the party that it is about, if that is an agent."""
    agent = Uid(of) if of not in (USER, WINDLASS) else None
    writing.emit(event, repo=message.repo, agent=agent)
