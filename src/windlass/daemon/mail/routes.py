"""The verbs of mail: messages and their receipts, questions, notices."""

from __future__ import annotations

from windlass.api.verbs import Refusal, Verb, Wait
from windlass.api.wire import mail as wire
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.requests import IntentVerb
from windlass.daemon.mail.delivery import Delivery
from windlass.daemon.mail.listeners import Listeners
from windlass.daemon.mail.messages import Messages
from windlass.daemon.mail.questions import Questions

_ASK = Refusal("questions are asked by agents", "say it to one: wl send AGENT '...'")
_HOOKS = Refusal("only the hooks of an agent ask this", "`wl inbox` shows your mail")
_LISTEN = Refusal(
    "notices are for the person, and agents do not listen for them",
    "end your turn with WAITING: what is said to you comes by itself",
)
_TAKE = Refusal("notices are for the person", "agents do not take them")


def routes(
    intents: Intents,
    messages: Messages,
    *,
    questions: Questions,
    delivery: Delivery,
    listeners: Listeners,
) -> dict[str, Verb | Wait]:
    """Verb by verb."""
    return {
        "ack": Verb(
            wire.MessagesRequest,
            wire.AckReply,
            IntentVerb(intents, "ack", messages.begin_ack),
            callers="both",
        ),
        "answer": Verb(
            wire.AnswerRequest,
            wire.SendReply,
            IntentVerb(intents, "send", messages.begin_answer),
            callers="both",
        ),
        "ask": Verb(
            wire.AskRequest,
            wire.AskReply,
            IntentVerb(intents, "ask", questions.begin),
            callers="agent",
            refusal=_ASK,
        ),
        "inbox": Verb(wire.InboxRequest, list[wire.MessageView], messages.inbox, callers="both"),
        "listen": Wait(wire.ListenRequest, wire.ListenReply, listeners.listen, refusal=_LISTEN),
        "mail.wait": Wait(
            wire.MailRequest, wire.MailReply, delivery.wait, callers="agent", refusal=_HOOKS
        ),
        "message": Verb(wire.MessageRequest, wire.MessageReply, messages.show, callers="both"),
        "notify": Verb(
            wire.NotifyRequest,
            wire.NoticeView,
            IntentVerb(intents, "notify", listeners.begin),
            callers="both",
        ),
        "questions": Verb(
            wire.QuestionsRequest, list[wire.QuestionView], questions.view, callers="both"
        ),
        "receipts": Wait(
            wire.ReceiptsRequest,
            list[wire.NotedMessage],
            messages.wait_for_receipts,
            callers="both",
        ),
        "send": Verb(
            wire.SendRequest,
            wire.SendReply,
            IntentVerb(intents, "send", messages.begin_send),
            callers="both",
        ),
        "taken": Verb(wire.TakenRequest, wire.TakenReply, listeners.taken, refusal=_TAKE),
    }
