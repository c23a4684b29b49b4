"""Events of messages, from being written to being dealt with."""

from __future__ import annotations

from windlass.core.events.catalogue import EventData


class MessageSent(EventData, kind="message.sent"):
    """A message was written; it waits to be delivered."""

    id: str
    to: str
    recipient: str
    text: str


class MessageRequeued(EventData, kind="message.requeued"):
    """A message that was on its way did not arrive, and waits again."""

    id: str
    why: str


class MessageReceived(EventData, kind="message.received"):
    """A message is where it was sent to."""

    id: str
    sender: str
    text: str
    route: str
    seconds: float


class MessageRead(EventData, kind="message.read"):
    """The recipient has gone on after it had a message."""

    id: str
    sender: str


class MessageAcked(EventData, kind="message.acked"):
    """A message was dealt with."""

    id: str
    by: str


class MessageCollapsed(EventData, kind="message.collapsed"):
    """A message became one with another that says the same or something newer."""

    id: str
    reason: str | None = None
    into: str | None = None


class MessageFailed(EventData, kind="message.failed"):
    """A message will never arrive."""

    id: str
    reason: str


class MessageExpired(EventData, kind="message.expired"):
    """A message is of no use any more."""

    id: str
    reason: str


class MessageRevived(EventData, kind="message.revived"):
    """A message that was given up when an agent ended counts again."""

    id: str


class MailStuck(EventData, kind="mail.stuck"):
    """The mail of an agent could not be seen to."""

    error: str
