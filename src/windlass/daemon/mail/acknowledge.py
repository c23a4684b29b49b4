"""`wl acknowledge`: messages that were dealt with, and what their askers hear of that."""

from __future__ import annotations

from typing import Any

from windlass.api.verbs import Caller
from windlass.api.wire.mail import AckReply, MessagesRequest
from windlass.core.errors import Conflict, Denied, UserError
from windlass.core.ids import RepoId, Uid
from windlass.core.mail import messages
from windlass.core.mail.messages import USER, Message
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.mail import from_windlass, message_lookup, receipts, recipients
from windlass.daemon.mail.receipts import PERSON, Party
from windlass.store import mailbox, rows
from windlass.store.store import Writing

_ALL = 1_000_000
"""More messages than anybody has: no limit."""


class Acknowledgements:
    """Marks messages as dealt with."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def operation(self) -> Operation:
        """A message is acknowledged when that is recorded."""
        return Operation("ack", (), lambda _: [], _reply)

    def begin(self, caller: Caller, request: MessagesRequest) -> IntentDraft:
        """Marks the messages that are named as dealt with; with `all`, all that the caller has."""
        scope = lookup.scope(self._context, caller, request)
        named = message_lookup.find_all(self._context, scope, request.get("messages", []))
        by = recipients.caller(scope)
        if not named and request.get("all"):
            named = self._open_messages(scope.require_repo().id, by)
        elif not named:
            raise UserError("which message?", "name one, or --all; `wl inbox` shows them")
        for message in named:
            _refuse_unread(scope, message)

        def prepare(writing: Writing) -> dict[str, Any]:
            acked = [message for message in named if receipts.acknowledge(writing, message, by=by)]
            for message in acked:
                _tell_asker(writing, message, by)
            return {"acked": [message.id for message in acked]}

        repo = named[0].repo if named else scope.require_repo().id
        return IntentDraft(repo, scope.caller_uid, prepare)

    def _open_messages(self, repo: RepoId, party: Party) -> list[Message]:
        """What somebody has and has not dealt with; an agent's only once it was delivered."""
        states = messages.OPEN if party == PERSON else ("delivered", "read")
        return self._context.store.read(
            lambda c: mailbox.inbox(c, repo=repo, recipient=party.uid, states=states, last=_ALL)
        )


def _refuse_unread(scope: lookup.Scope, message: Message) -> None:
    """Refuses to acknowledge what is another's, or what an agent has not been given yet."""
    if scope.caller is not None and message.recipient != scope.caller.uid:
        raise Denied(f"{message.id} is to {message.recipient_id}", "`wl inbox` shows what is yours")
    if message.state == "queued" and message.recipient != USER:
        raise Conflict(f"{message.id} has not been delivered yet", "it comes by itself; go on")


def _tell_asker(writing: Writing, question: Message, by: Party) -> None:
    """Says to an agent that its question was put away: it might wait for an answer for ever."""
    asker = rows.agent(writing.connection, Uid(question.sender))
    if question.kind != "question" or asker is None or asker.ended_at is not None:
        return
    text = (
        f"{by.id} has put your question {question.id} away without an answer here. Go on as you"
        " think best and say what you decided; if you cannot, ask again."
    )
    from_windlass.say(writing, asker, text, topic=f"put-away:{question.id}")


def _reply(work: RunningIntent) -> AckReply:
    return {"acked": work.data["acked"]}
