"""Messages: what one is, how it reads when it arrives, which go together, and which are too many.

Pure. A message is `queued` until its id is in its recipient's conversation; an offer is a delivery
under way, of which the conversation has not told yet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

from windlass.core.errors import Conflict
from windlass.core.ids import RepoId
from windlass.core.mail.mentions import unmentioned

Kind = Literal["note", "question", "status", "alert", "complete"]
Receipt = Literal["queued", "delivered", "read", "acked", "expired", "failed", "collapsed"]
Route = Literal["context", "rewake", "stdin", "paste", "inbox", "notice"]
USER = "user"
WINDLASS = "windlass"
OPEN = ("queued", "delivered", "read")
"""The receipts that more can follow."""
ROOM = 9_500
"""Characters that fit into added context: of more than ten thousand a file name is left."""
BATCH = 200_000
"""Characters that are said at once where nothing sets a limit."""
_PREFIXES: tuple[tuple[str, Kind], ...] = (
    ("QUESTION:", "question"),
    ("ALERT:", "alert"),
    ("COMPLETE:", "complete"),
    ("DONE:", "complete"),
    ("?", "question"),
    ("!", "alert"),
)
_SAID = re.compile(
    r"\[sent by (?:agent \S+|user|windlass)\]:(?: \(answers \S+\))? (?:QUESTION: )?(.*?)"
    r"\n\n\[message msg-[0-9a-f]{10}\]",
    re.DOTALL,
)
_FORGED = re.compile(r"\[(?=[\W_]{0,3}(?:sent[\W_]{1,3}by\b|message[\W_]{1,3}msg-))", re.IGNORECASE)
"""What would pass for a mark of ours, wherever it stands: there are many ways to begin a line."""
FRAME = re.compile(
    r"<(?=[\W_]{0,3}(?:system[\W_]{0,3}reminder|task[\W_]{1,3}notification|command[\W_]{1,3}"
    r"(?:name|message|args)|local[\W_]{1,3}command|bash[\W_]{1,3}(?:input|stdout|stderr)"
    r"|user[\W_]{1,3}prompt[\W_]{1,3}submit)\b)",
    re.IGNORECASE,
)
"""What begins or ends the frame that agent CLIs put around what is not said by the person: a text
within one could end it, and go on as if somebody else spoke."""
_MARK = re.compile(r"\[message (msg-[0-9a-f]{10})\]")


class Offer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A delivery under way: the way it went, and from where on its conversation tells of it."""

    route: Route
    session: int
    at: float
    path: str
    offset: int
    arm: str = ""
    """The waiting hook that was given it."""
    tool: str = ""
    """The call of a tool whose answer it went with."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Text from one party to another. Parties are the uid of an agent, `user` or `windlass`."""

    number: int = 0
    id: str
    repo: RepoId
    sender: str
    sender_id: str
    recipient: str
    recipient_id: str
    kind: Kind = "note"
    urgent: bool = False
    body: str
    topic: str | None = None
    reply_to: str | None = None
    state: Receipt = "queued"
    reason: str = ""
    survivor: str | None = None
    route: Route | None = None
    offer: Offer | None = None
    created_at: float
    expires_at: float | None = None
    delivered_at: float | None = None
    read_at: float | None = None
    acked_at: float | None = None
    ended_at: float | None = None


def said(message: Message) -> str:
    """A message as its recipient reads it: who sent it, the text as it is, and its id.

    Only what would pass for one of these two, or for a frame of an agent CLI, is changed: nobody
    speaks in another's name. And what would name a file to be read along, unless the person says
    it: who is told of a file reads it by a call, which its policy judges.
    """
    agent = message.sender not in (USER, WINDLASS)
    who = f"agent {message.sender_id}" if agent else message.sender
    answers = f" (answers {message.reply_to})" if message.reply_to else ""
    word = "QUESTION: " if message.kind == "question" else ""
    body = unmarked(message.body) if message.sender == USER else as_text(message.body)
    return f"[sent by {who}]:{answers} {word}{body}\n\n[message {message.id}]"


def as_text(said: str) -> str:
    """What an agent said, as another one may read it: no file is named, and nobody else speaks."""
    return unmarked(unmentioned(said))


def unmarked(text: str) -> str:
    """A text without anything that would pass for the marks of a message, or for a frame."""
    return FRAME.sub("(", _FORGED.sub("(", text))


def state_of(uid: str) -> str:
    """The topic of what an agent's manager is told about it: the newest takes the others' place."""
    return f"state:{uid}"


def stall_of(uid: str) -> str:
    """The topic of what an agent's manager is told of why it cannot go on by itself."""
    return f"stall:{uid}"


def together(messages: Iterable[Message]) -> str:
    """Several messages as one text."""
    return "\n\n".join(map(said, messages))


def in_order(messages: Iterable[Message]) -> list[Message]:
    """Messages as they are delivered: what is urgent first, else as they were sent."""
    return sorted(messages, key=lambda message: (not message.urgent, message.number))


def batch(messages: Sequence[Message], room: int) -> list[Message]:
    """The first of those in order that fit; none where the very first does not."""
    taken: list[Message] = []
    for message in in_order(messages):
        room -= len(said(message)) + 2
        if room < 0:
            break
        taken.append(message)
    return taken


def bodies(text: str) -> list[tuple[str, str]]:
    """The messages that a text carries, each as it was said and as it was sent; none of others."""
    return [(match[0], match[1]) for match in _SAID.finditer(text)]


def mentioned(text: str) -> list[str]:
    """The ids of messages that arrived with a text."""
    return _MARK.findall(text)


def sorted_by_prefix(text: str) -> tuple[Kind, str]:
    """What kind of message to the person a text is, by how it begins, and the text without that."""
    bare = text.lstrip()
    for prefix, kind in _PREFIXES:
        body = bare.removeprefix(prefix).lstrip()
        if bare.startswith(prefix) and body:
            return kind, body
    return "status", text


class MailLimits(NamedTuple):
    """How much one sender says in a minute, and how much waits for one recipient."""

    rate: int
    inbox: int


class Waiting(NamedTuple):
    """How many messages wait for a recipient, and how many of them are of one sender."""

    all: int = 0
    of_sender: int = 0


def refuse_flood(
    to: str, *, limits: MailLimits, of_sender: int, waiting: Waiting, adding: int = 1
) -> None:
    """Refuses what is too much, with what to do; `of_sender` counts the last minute.

    Who has next to nothing in a full inbox is not refused: else whoever fills it would keep all
    others, the person among them, from being heard.
    """
    if of_sender + adding > limits.rate:
        raise Conflict(
            f"{of_sender} messages sent within a minute, and {limits.rate} is the limit",
            "say more in one message, or wait; mail.rate is the limit",
        )
    if waiting.all >= limits.inbox and waiting.of_sender >= share(limits.inbox):
        raise Conflict(
            f"the inbox of {to} is full: {waiting.all} messages wait for it",
            f"see why it does not take them: wl why {to}; mail.inbox is the limit",
        )


def share(most: int) -> int:
    """Of what is full for all together, so much is left to each who has less than that in it."""
    return max(1, most // 20)


def twin(messages: Iterable[Message], new: Message) -> Message | None:
    """The waiting message that a new one would only repeat: the last of its pair and class.

    Not an earlier one: who says yes, no, yes means yes.
    """
    before = [old for old in messages if _same_pair(old, new) and old.urgent == new.urgent]
    last = max(before, key=lambda message: message.number, default=None)
    return last if last is not None and _same(last, new) else None


def outdated(messages: Iterable[Message], new: Message) -> list[Message]:
    """The waiting messages whose place a new one of the same topic takes; none more urgent."""
    if new.topic is None:
        return []
    same = [old for old in messages if old.topic == new.topic and _same_pair(old, new)]
    return [old for old in same if new.urgent or not old.urgent]


def _same(old: Message, new: Message) -> bool:
    return (
        old.body == new.body
        and old.kind == new.kind
        and old.topic == new.topic
        and old.reply_to == new.reply_to
        and _lasts_as_long(old, new)
    )


def _lasts_as_long(old: Message, new: Message) -> bool:
    if old.expires_at is None:
        return True
    return new.expires_at is not None and old.expires_at >= new.expires_at


def _same_pair(old: Message, new: Message) -> bool:
    """Whether an older message waits for the same recipient, from the same sender."""
    return (
        old.repo == new.repo
        and old.sender == new.sender
        and old.recipient == new.recipient
        and old.state == "queued"
        and old.offer is None
    )
