"""Events of messages, from being written to being dealt with."""

from __future__ import annotations

from windlass.core.events.catalogue import EventData


def message_subject(message: str) -> str:
    """The subject of the events of one message."""
    return f"message:{message}"


MAIL_MISSING = "mail:missing"
"""The subject of mail that a restored store does not know."""


class MailMissing(EventData, kind="mail.missing"):
    """An agent was told which messages that it speaks of the restored store does not know."""

    ids: list[str]

    def subject(self) -> str:
        """One for all of them: by it they are found, which are few among many events."""
        return MAIL_MISSING


class MessageEvent(EventData, kind=""):
    """What the events of a message have in common: which one it is."""

    id: str

    def subject(self) -> str:
        """The message: by it its history is found."""
        return message_subject(self.id)


class MessageSent(MessageEvent, kind="message.sent"):
    """A message was written; it waits to be delivered."""

    to: str
    recipient: str
    text: str


class MessageRequeued(MessageEvent, kind="message.requeued"):
    """A message that was on its way did not arrive, and waits again."""

    why: str


class MessageReceived(MessageEvent, kind="message.received"):
    """A message is where it was sent to."""

    sender: str
    text: str
    route: str
    seconds: float


class MessageRead(MessageEvent, kind="message.read"):
    """The recipient has gone on after it had a message."""

    sender: str


class MessageAcked(MessageEvent, kind="message.acked"):
    """A message was dealt with."""

    by: str


class MessageCollapsed(MessageEvent, kind="message.collapsed"):
    """A message became one with another that says the same or something newer."""

    reason: str | None = None
    into: str | None = None


class MessageFailed(MessageEvent, kind="message.failed"):
    """A message will never arrive."""

    reason: str


class MessageExpired(MessageEvent, kind="message.expired"):
    """A message is of no use any more."""

    reason: str


class MessageRevived(MessageEvent, kind="message.revived"):
    """A message that was given up when an agent ended counts again."""


class QuestionRefused(EventData, kind="question.refused"):
    """Questions that an agent would have asked in a dialog may not be asked, and are not kept."""

    questions: int
    why: str


class MailStuck(EventData, kind="mail.stuck"):
    """The mail of an agent could not be seen to."""

    error: str
