"""The verbs of mail: messages and their receipts, questions, notices."""

from __future__ import annotations

from windlass.api import wire
from windlass.api.server import Verb, Wait
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.requests import performing
from windlass.daemon.mail.delivery import Delivery
from windlass.daemon.mail.listeners import Listeners
from windlass.daemon.mail.messages import Messages
from windlass.daemon.mail.questions import Questions


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
        "ack": Verb(wire.MessagesRequest, performing(intents, "ack", messages.begin_ack)),
        "answer": Verb(wire.AnswerRequest, performing(intents, "send", messages.begin_answer)),
        "ask": Verb(wire.AskRequest, performing(intents, "ask", questions.begin)),
        "inbox": Verb(wire.InboxRequest, messages.inbox),
        "listen": Wait(wire.ListenRequest, listeners.listen),
        "mail.wait": Wait(wire.MailRequest, delivery.wait),
        "message": Verb(wire.MessageRequest, messages.show),
        "notify": Verb(wire.NotifyRequest, performing(intents, "notify", listeners.begin)),
        "questions": Verb(wire.QuestionsRequest, questions.view),
        "receipts": Wait(wire.ReceiptsRequest, messages.wait_for_receipts),
        "send": Verb(wire.SendRequest, performing(intents, "send", messages.begin_send)),
        "taken": Verb(wire.TakenRequest, listeners.taken),
    }
