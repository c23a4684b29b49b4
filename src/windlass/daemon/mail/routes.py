"""The verbs of mail: messages and their receipts, questions, notices."""

from __future__ import annotations

from windlass.api.verbs import Refusal, Verb, Wait
from windlass.api.wire import mail as wire
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.requests import IntentVerb
from windlass.daemon.mail.acknowledge import Acknowledgements
from windlass.daemon.mail.answer import Answers
from windlass.daemon.mail.delivery import Delivery
from windlass.daemon.mail.inbox import Inbox
from windlass.daemon.mail.listeners import Listeners
from windlass.daemon.mail.notify import Notifications
from windlass.daemon.mail.questions import Questions
from windlass.daemon.mail.receipt_wait import ReceiptWait
from windlass.daemon.mail.send import Sends

_ASK = Refusal("questions are asked by agents", "say it to one: wl send AGENT '...'")
_HOOKS = Refusal("only the hooks of an agent ask this", "`wl inbox` shows your mail")
_LISTEN = Refusal(
    "notices are for the person, and agents do not listen for them",
    "end your turn with WAITING: what is said to you comes by itself",
)
_TAKE = Refusal("notices are for the person", "agents do not take them")


def routes(
    context: Context,
    intents: Intents,
    *,
    sends: Sends,
    answers: Answers,
    acknowledgements: Acknowledgements,
    questions: Questions,
    notifications: Notifications,
    delivery: Delivery,
    listeners: Listeners,
) -> dict[str, Verb | Wait]:
    """What answers each verb of mail, and who may call it."""
    inbox, receipt_wait = Inbox(context), ReceiptWait(context)
    return {
        "ack": Verb(
            wire.MessagesRequest,
            wire.AckReply,
            IntentVerb(intents, "ack", acknowledgements.begin),
            callers="both",
            needs="store",
        ),
        "answer": Verb(
            wire.AnswerRequest,
            wire.SendReply,
            IntentVerb(intents, "send", answers.begin),
            callers="both",
        ),
        "ask": Verb(
            wire.AskRequest,
            wire.AskReply,
            IntentVerb(intents, "ask", questions.begin),
            callers="agent",
            refusal=_ASK,
            needs="store",
        ),
        "inbox": Verb(
            wire.InboxRequest,
            list[wire.MessageView],
            inbox.view,
            callers="both",
            needs="store",
        ),
        "listen": Wait(wire.ListenRequest, wire.ListenReply, listeners.listen, refusal=_LISTEN),
        "mail.wait": Wait(
            wire.MailRequest, wire.MailReply, delivery.wait, callers="agent", refusal=_HOOKS
        ),
        "message": Verb(
            wire.MessageRequest,
            wire.MessageReply,
            inbox.show,
            callers="both",
            needs="store",
        ),
        "notify": Verb(
            wire.NotifyRequest,
            wire.NoticeView,
            IntentVerb(intents, "notify", notifications.begin),
            callers="both",
            needs="store",
        ),
        "questions": Verb(
            wire.QuestionsRequest,
            list[wire.QuestionView],
            questions.view,
            callers="both",
            needs="store",
        ),
        "receipts": Wait(
            wire.ReceiptsRequest, list[wire.NotedMessage], receipt_wait.wait, callers="both"
        ),
        "send": Verb(
            wire.SendRequest,
            wire.SendReply,
            IntentVerb(intents, "send", sends.begin),
            callers="both",
        ),
        "taken": Verb(
            wire.TakenRequest,
            wire.TakenReply,
            listeners.taken,
            refusal=_TAKE,
            needs="store",
        ),
    }
