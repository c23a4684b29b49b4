"""Rows of messages, as functions of a connection."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import sqlalchemy as sa

from windlass.core.events import message_subject
from windlass.core.ids import RepoId, Uid
from windlass.core.mail import messages
from windlass.core.mail.messages import Message
from windlass.store import records, rows
from windlass.store import tables as t
from windlass.store.store import Event, Writing

_C = t.messages.c
_MOST = 1000
_EVENTS = 20_000


def add(writing: Writing, message: Message) -> Message:
    """Keeps a new message; returns it with its number."""
    values = records.stored(msgspec.structs.asdict(message))
    del values["number"]
    done = writing.connection.execute(sa.insert(t.messages).values(values))
    number = done.inserted_primary_key
    if number is None:  # every dialect that we support returns the key
        raise AssertionError(message.id)
    return msgspec.structs.replace(message, number=number[0])


def change(writing: Writing, message: Message, **values: Any) -> Message:
    """Changes these columns of a message; returns the message with them."""
    changed = msgspec.structs.replace(message, **values)
    this = _C.number == message.number
    writing.connection.execute(sa.update(t.messages).where(this).values(records.stored(values)))
    return changed


def find(connection: sa.Connection, wanted: str) -> Message | None:
    """The message of exactly that id."""
    listed = _all(connection, sa.select(t.messages).where(_C.id == wanted))
    return listed[0] if listed else None


def ids(
    connection: sa.Connection, prefix: str, *, party: str | None = None, kind: str | None = None
) -> list[str]:
    """The ids that begin like that; of messages from or to somebody, and of a kind."""
    query = sa.select(_C.id).where(_C.id.startswith(prefix, autoescape=True))
    if party is not None:
        query = query.where(sa.or_(_C.sender == party, _C.recipient == party))
    if kind is not None:
        query = query.where(_C.kind == kind)
    return [row[0] for row in connection.execute(query)]


def queued(connection: sa.Connection, recipient: str) -> list[Message]:
    """What is not in its recipient's conversation yet, in the order of delivery."""
    query = sa.select(t.messages).where(_C.recipient == recipient, _C.state == "queued")
    return messages.in_order(_all(connection, query))


def questions(
    connection: sa.Connection,
    *,
    repo: RepoId | None = None,
    sender: str | None = None,
    recipient: str | None = None,
) -> list[Message]:
    """The questions that nobody has answered, oldest first."""
    query = sa.select(t.messages).where(_C.kind == "question", _C.state.in_(messages.OPEN))
    for column, wanted in ((_C.repo, repo), (_C.recipient, recipient), (_C.sender, sender)):
        if wanted is not None:
            query = query.where(column == wanted)
    return _all(connection, query.order_by(_C.number))


def ours_on(connection: sa.Connection, topic: str) -> list[Message]:
    """What we ourselves have queued on a topic, and what is not under way."""
    query = sa.select(t.messages).where(
        _C.state == "queued",
        _C.sender == messages.WINDLASS,
        _C.topic == topic,
        _C.offer.is_(None),
    )
    return _all(connection, query)


def lost_with(connection: sa.Connection, agent: Uid, since: float) -> list[Message]:
    """What an agent asked, and what was sent to it, that ended with it at that time or later."""
    query = sa.select(t.messages).where(
        _C.state.in_(("failed", "expired")),
        _C.ended_at >= since,
        sa.or_(_C.recipient == agent, (_C.sender == agent) & (_C.kind == "question")),
    )
    return _all(connection, query.order_by(_C.number))


def watched(connection: sa.Connection, recipient: str) -> list[Message]:
    """What the recipient's conversation may tell more about: under way, or not read yet."""
    query = sa.select(t.messages).where(
        _C.recipient == recipient,
        _C.state.in_(("queued", "delivered")),
        _C.offer.is_not(None),
    )
    return messages.in_order(_all(connection, query))


def busy(connection: sa.Connection) -> set[str]:
    """Whoever has mail that is queued or watched."""
    query = sa.select(_C.recipient).distinct()
    query = query.where(_C.state.in_(("queued", "delivered")), _C.recipient != messages.USER)
    return {row[0] for row in connection.execute(query)}


def expired(connection: sa.Connection, now: float) -> list[Message]:
    """What is queued though its time is over; what is under way may still arrive."""
    query = sa.select(t.messages).where(
        _C.state == "queued", _C.expires_at <= now, _C.offer.is_(None)
    )
    return _all(connection, query)


def inbox(
    connection: sa.Connection,
    *,
    repo: RepoId | None = None,
    recipient: str | None = None,
    sender: str | None = None,
    kind: str | None = None,
    topic: str | None = None,
    states: Iterable[str] | None = None,
    last: int = _MOST,
) -> list[Message]:
    """The newest messages to or from somebody, oldest first."""
    query = sa.select(t.messages).order_by(_C.number.desc()).limit(last)
    asked = (
        (_C.repo, repo),
        (_C.recipient, recipient),
        (_C.sender, sender),
        (_C.kind, kind),
        (_C.topic, topic),
    )
    for column, wanted in asked:
        if wanted is not None:
            query = query.where(column == wanted)
    if states is not None:
        query = query.where(_C.state.in_(tuple(states)))
    return list(reversed(_all(connection, query)))


def thread(connection: sa.Connection, message: Message) -> list[Message]:
    """What a message answers, and what answers it, oldest first."""
    before: list[Message] = []
    above = message
    while above.reply_to is not None and len(before) < _MOST:
        answered = find(connection, above.reply_to)
        if answered is None:
            break
        before.append(answered)
        above = answered
    query = sa.select(t.messages).where(_C.reply_to == message.id).order_by(_C.number).limit(_MOST)
    return [*reversed(before), *_all(connection, query)]


def history(connection: sa.Connection, message: Message) -> list[Event]:
    """What happened to a message, oldest first."""
    return rows.events(connection, subject=message_subject(message.id), limit=_EVENTS)


def waiting_for_person(connection: sa.Connection, repo: RepoId | None) -> list[Message]:
    """What the person was told and has not acknowledged, oldest first."""
    return inbox(connection, repo=repo, recipient=messages.USER, states=messages.OPEN)


def sent_since(
    connection: sa.Connection, sender: str, repo: RepoId, *, since: float, now: float
) -> int:
    """How many messages somebody sent since a moment.

    What is of later than now was sent before the clock was set back.
    """
    query = sa.select(sa.func.count()).select_from(t.messages)
    query = query.where(
        _C.sender == sender, _C.repo == repo, _C.created_at > since, _C.created_at <= now
    )
    return int(connection.execute(query).scalar() or 0)


def _all(connection: sa.Connection, query: sa.Select[Any]) -> list[Message]:
    return records.every(Message, connection, query)
