"""Messages as faces show them: what one says, and why one that is queued may take a while."""

from __future__ import annotations

import sqlalchemy as sa

from windlass.api.wire.mail import MessageStep, MessageView, NotedMessage
from windlass.core.ages import age
from windlass.core.ids import Uid
from windlass.core.mail.messages import USER, Message
from windlass.daemon.kernel.context import Context
from windlass.store import mailbox, rows
from windlass.store.store import Event

_REASONS = ("why", "reason", "route", "by")
"""The fields of an event in which it says why, or how, it happened."""


def view(context: Context, message: Message) -> MessageView:
    """A message with its receipt."""
    return {
        "id": message.id,
        "repo": message.repo,
        "from": message.sender_id,
        "to": message.recipient_id,
        "kind": message.kind,
        "urgent": message.urgent,
        "text": message.body,
        "topic": message.topic,
        "reply_to": message.reply_to,
        "state": message.state,
        "reason": message.reason,
        "survivor": message.survivor,
        "route": message.route,
        "created_at": message.created_at,
        "expires_at": message.expires_at,
        "delivered_at": message.delivered_at,
        "read_at": message.read_at,
        "acked_at": message.acked_at,
        "ended_at": message.ended_at,
        "age": context.clock.now() - message.created_at,
        "under_way": message.offer is not None and message.state == "queued",
    }


def noted(
    context: Context, connection: sa.Connection, message: Message, *, asleep: str | None = None
) -> NotedMessage:
    """A message with a note on what keeps it; `asleep` says why its recipient was not woken."""
    return {**view(context, message), "note": _note(connection, message, asleep)}


def why_queued(context: Context, message: Message) -> str:
    """What a message waits for, as far as that can be told."""
    uid, now = message.recipient, context.clock.now()
    if message.state != "queued" or uid == USER:
        return ""
    agent = context.store.read(lambda c: rows.agent(c, Uid(uid)))
    doing = f"{agent.id} is {agent.state}" if agent else ""
    if agent is not None and agent.state == "asking":
        doing += f", with a dialog open: wl attach {agent.id}"
    if message.offer is not None:
        ago = age(now - message.offer.at)
        return f"offered by {message.offer.route} {ago} ago, and not taken yet; {doing}"
    first = context.store.read(lambda c: mailbox.queued(c, uid))[:1]
    behind = f"it comes after {first[0].id}; " if first and first[0].id != message.id else ""
    return behind + doing


def step(event: Event) -> MessageStep:
    """One event of a message's history."""
    why = next((event.data[key] for key in _REASONS if event.data.get(key)), "")
    return {"at": event.at, "what": event.kind.removeprefix("message."), "why": why}


def _note(connection: sa.Connection, message: Message, asleep: str | None) -> str:
    if message.recipient == USER:
        return ""
    agent = rows.agent(connection, Uid(message.recipient))
    if asleep:
        return f"it could not be woken: {asleep}"
    if agent is None or agent.state not in ("stopped", "paused") or message.state != "queued":
        return ""
    return f"{agent.id} is {agent.state}: it waits for `wl resume {agent.id}`"
