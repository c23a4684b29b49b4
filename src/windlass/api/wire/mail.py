"""Mail: messages and their receipts, questions, notices."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypeAlias, TypedDict

import msgspec

from windlass.api.wire.request import (
    AgentRequest,
    AnyRequest,
    Numbers,
    Text,
    Whole,
    Word,
    Words,
)

Recipients: TypeAlias = Annotated[str, msgspec.Meta(max_length=50_000)]
"""Names with commas between them: a thousand of the longest."""


class SendRequest(AnyRequest):
    """Says something to an agent, to several (with commas), or to who is meant by a word."""

    agent: Recipients
    text: Text
    urgent: NotRequired[bool]
    wake: NotRequired[bool]
    reply_to: NotRequired[Word | None]
    topic: NotRequired[Word | None]
    expires: NotRequired[float | None]


class AnswerRequest(AnyRequest):
    """Answers a question, named by its id or by who asks."""

    question: Word
    text: Text
    wake: NotRequired[bool]


class QuestionsRequest(AnyRequest):
    """Lists questions; `all` also those that were answered."""

    all: NotRequired[bool]


class InboxRequest(AgentRequest):
    """Lists the messages to an agent or the person, or with `sent` from it."""

    all: NotRequired[bool]
    sent: NotRequired[bool]
    last: NotRequired[Whole | None]
    peek: NotRequired[bool]
    """Who only completes a word shows nobody anything: no receipt says that it was seen."""


class MessageRequest(AnyRequest):
    """Names a message."""

    message: Word


class MessagesRequest(AnyRequest):
    """Names messages, or `all` that wait for the caller."""

    messages: NotRequired[Words]
    all: NotRequired[bool]


class ReceiptsRequest(AnyRequest):
    """Waits until messages are queued no more, or so many seconds."""

    messages: Words
    timeout: float


class MailRequest(AnyRequest):
    """A waiting hook asks for mail; `arm` is its name, by which it asks again."""

    session: Whole
    arm: Word


class AskRequest(AnyRequest):
    """Asks whoever is above the calling agent."""

    text: Text


class NotifyRequest(AnyRequest):
    """Posts a notice; an agent is its own sender, whatever `sender` says."""

    text: Text
    type: NotRequired[Literal["complete", "waiting", "question"]]
    sender: NotRequired[Word | None]


class ListenRequest(AnyRequest):
    """Waits for notices; `listener` tells a waiter from others, `pid` is only shown to them."""

    route: Literal["listen", "rewake"]
    listener: Word
    timeout: NotRequired[float | None]
    pid: NotRequired[Whole | None]


class TakenRequest(AnyRequest):
    """Says that a waiter has what it was given."""

    numbers: Numbers
    listener: Word
    route: Literal["listen", "rewake"]


_Sender = TypedDict("_Sender", {"from": str})


class MessageView(_Sender):
    """A message and what became of it; `reason` says why it ended, `survivor` in what other."""

    id: str
    repo: str
    kind: str
    urgent: bool
    topic: str | None
    reply_to: str | None
    state: str
    reason: str
    survivor: str | None
    route: str | None
    created_at: float
    expires_at: float | None
    delivered_at: float | None
    read_at: float | None
    acked_at: float | None
    ended_at: float | None
    to: str
    text: str
    age: float
    under_way: bool


class NotedMessage(MessageView):
    """A message with why it may take a while; an empty note is no reason."""

    note: str


class MessageStep(TypedDict):
    """One thing that happened to a message."""

    at: float
    what: str
    why: str


class MessageReply(NotedMessage):
    """A message with what it belongs to and everything that happened to it."""

    thread: list[MessageView]
    history: list[MessageStep]


class SendReply(TypedDict):
    """The messages that were sent, one to each recipient."""

    messages: list[NotedMessage]


class AckReply(TypedDict):
    """The messages that count as dealt with now."""

    acked: list[str]


class AskReply(TypedDict):
    """A question, whom it was asked, and that one's state if it is an agent."""

    message: str
    agent: str
    to: str
    state: str | None
    asked: str


class QuestionView(TypedDict):
    """A question of an agent."""

    id: str
    repo: str
    agent: str
    text: str
    state: str
    at: float
    age: float


class MailReply(TypedDict):
    """What a waiting hook is to say to its session; without a text it need not wait any longer."""

    text: str | None


class NoticeView(TypedDict):
    """A notice as it is printed, and the number by which it is taken."""

    number: int
    line: str


class ListenReply(TypedDict):
    """Notices, or why there are none; `pid` is who listens already, if it said so."""

    notices: list[NoticeView]
    why: str
    pid: NotRequired[int | None]


class TakenReply(TypedDict):
    """How many notices left the queue."""

    taken: int
