"""`wl answer`: the answer to a question, which goes to who asked it."""

from __future__ import annotations

from windlass.api.verbs import Caller
from windlass.api.wire.mail import AnswerRequest, SendRequest
from windlass.core.errors import Conflict, NotFound, UserError, WindlassError
from windlass.core.ids import Uid
from windlass.core.mail import messages
from windlass.core.mail.messages import Message
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft
from windlass.daemon.mail import admission, message_lookup, recipients
from windlass.daemon.mail.receipts import Party
from windlass.daemon.mail.send import Sends
from windlass.store import mailbox, rows


class Answers:
    """Finds the question that an answer is for, and sends the answer."""

    def __init__(self, context: Context, sends: Sends) -> None:
        self._context = context
        self._sends = sends

    def begin(self, caller: Caller, request: AnswerRequest) -> IntentDraft:
        """Finds the question that is meant, by its id or by who asks; its asker gets the answer."""
        scope = lookup.scope(self._context, caller, request)
        question = self._question(scope, request["question"])
        hint = f"wl answer {question.id} 'text', or the text on stdin"
        text = admission.checked(request["text"], hint)
        asker = self._context.store.read(lambda c: rows.agent(c, Uid(question.sender)))
        if asker is None or asker.ended_at is not None:
            raise Conflict(
                f"{question.sender_id}, who asked, has ended", f"wl acknowledge {question.id}"
            )
        answer: SendRequest = {"agent": asker.id, "text": text, "wake": request.get("wake", False)}
        return self._sends.begin_to(scope, [Party(asker.uid, asker.id)], answer, answered=question)

    def _question(self, scope: lookup.Scope, wanted: str) -> Message:
        """The only open question of the asker that is named, else the one with that id."""
        asked = self._asked_by(scope, wanted)
        if len({question.sender for question in asked}) > 1:
            named = ", ".join(sorted({question.sender_id for question in asked}))
            raise UserError(f"{wanted!r} fits several who ask: {named}", "type more of the id")
        if len(asked) > 1:
            named = ", ".join(question.id for question in asked)
            asker = asked[0].sender_id
            raise UserError(f"{asker} asks {len(asked)} things: {named}", "name the one you mean")
        if asked:
            return asked[0]
        try:
            message = message_lookup.find_question(self._context, scope, wanted)
        except NotFound:
            self._refuse_silent_agent(scope, wanted)
            raise
        message_lookup.refuse_all_but_recipient(scope, message)
        if message.kind != "question":
            raise UserError(f"{message.id} is no question", f"wl send {message.sender_id} '...'")
        if message.state not in messages.OPEN:
            raise Conflict(
                f"{message.id} is settled: {message.reason or 'it was answered'}",
                f"say more: wl send {message.sender_id} '...'",
            )
        return message

    def _refuse_silent_agent(self, scope: lookup.Scope, wanted: str) -> None:
        """Refuses the name of an agent as what it is, and passes over every other word."""
        try:
            agent = lookup.any_agent(self._context, scope, wanted)
        except WindlassError:
            return
        raise NotFound(
            f"{agent.id} has no open question",
            f"`wl questions` shows them; wl send {agent.id} '...'",
        ) from None

    def _asked_by(self, scope: lookup.Scope, wanted: str) -> list[Message]:
        """What the caller is asked by whoever has that id, or else one that begins so."""
        me = recipients.caller(scope).uid
        repo = scope.repo_id
        questions = self._context.store.read(
            lambda c: mailbox.questions(c, repo=repo, recipient=me)
        )
        exact = [question for question in questions if question.sender_id == wanted]
        return exact or [
            question for question in questions if question.sender_id.startswith(wanted)
        ]
