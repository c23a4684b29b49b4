"""`wl send`: a message to each recipient that is meant.

A message is sent when it is recorded, in the transaction of the request that sent it; getting it
into a conversation is `delivery`'s. What `wl answer` sends is sent here too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import sqlalchemy as sa

from windlass.api.verbs import Caller
from windlass.api.wire.mail import NotedMessage, SendReply, SendRequest
from windlass.core.errors import Conflict, Denied, UserError, WindlassError
from windlass.core.ids import Uid
from windlass.core.mail import messages
from windlass.core.mail.messages import MailLimits, Message
from windlass.daemon.kernel import lookup, repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.mail import (
    admission,
    message_lookup,
    message_view,
    notices,
    receipts,
    recipients,
)
from windlass.daemon.mail.receipts import PERSON, Party
from windlass.store import mailbox, rows
from windlass.store.rows import Repo
from windlass.store.store import Writing


class Sends:
    """Sends messages, and wakes their recipients where that is wanted."""

    def __init__(self, context: Context, resume: Callable[[Uid, str, Uid | None], None]) -> None:
        self._context = context
        self._resume = resume

    def operation(self) -> Operation:
        """A message is sent when it is recorded; waking its recipient comes after that."""
        wake = Step("wake", self._wake, needed=_wakes_somebody)
        return Operation("send", (wake,), lambda _: [], self._reply)

    def begin(self, caller: Caller, request: SendRequest) -> IntentDraft:
        """Finds everyone who is meant; records a message to each."""
        scope = lookup.scope(self._context, caller, request)
        hint = f"wl send {request['agent']} 'text', or the text on stdin"
        answered = self._answered(scope, request.get("reply_to"))
        to = recipients.meant(self._context, scope, request["agent"])
        admission.checked(request["text"], hint)
        return self.begin_to(scope, to, request, answered=answered)

    def begin_to(
        self,
        scope: lookup.Scope,
        to: list[Party],
        request: SendRequest,
        *,
        answered: Message | None,
    ) -> IntentDraft:
        """Records a message to each of these, in reply to the one that it answers, if any."""
        repo = self._repo(scope, to)
        config = settings.usable(self._context.folders.home, repo.root).config
        limits = MailLimits(config.mail.rate, config.mail.inbox)
        text = request["text"]
        by_agent = scope.caller is not None
        kind, body = messages.sorted_by_prefix(text) if by_agent else ("status", text)
        if PERSON in to and kind == "question":
            self._refuse_question(scope, allowed=config.allow_agent_questions)
        sender = recipients.caller(scope)
        seconds = request.get("expires")
        if seconds is not None and not 0 < seconds < 1e9:
            raise UserError(f"expiring after {seconds} s makes no sense", "give more than 0")

        def prepare(writing: Writing) -> dict[str, Any]:
            admission.refuse_flood(writing, repo.id, sender, to, limits)
            sent = []
            for party in to:
                what, words = (kind, body) if party == PERSON else ("note", text)
                message = msgspec.structs.replace(
                    receipts.draft(repo.id, sender, party, words, kind=what, now=writing.now),
                    urgent=request.get("urgent", False),
                    topic=request.get("topic"),
                    reply_to=answered.id if answered else None,
                    expires_at=writing.now + seconds if seconds is not None else None,
                )
                sent.append(receipts.post(writing, message))
                notices.on_message(writing, sent[-1])
            if answered is not None and _settles(answered, sender, to):
                receipts.acknowledge(writing, answered, by=sender)
            wake = [party.uid for party in to if party != PERSON] if request.get("wake") else []
            by = scope.caller_uid
            return {"sent": [message.id for message in sent], "wake": wake, "by": by}

        return IntentDraft(repo.id, scope.caller_uid, prepare)

    def _answered(self, scope: lookup.Scope, wanted: str | None) -> Message | None:
        """The message that a reply names, which its sender must have had or written."""
        if wanted is None:
            return None
        message = message_lookup.find(self._context, scope, wanted)
        message_lookup.refuse_strangers(scope, message)
        return message

    def _refuse_question(self, scope: lookup.Scope, *, allowed: bool) -> None:
        if recipients.above(self._context, scope) != PERSON:
            raise Denied("only root agents ask the person", "your manager: wl ask 'your question'")
        admission.refuse_question(allowed=allowed)

    def _repo(self, scope: lookup.Scope, to: list[Party]) -> Repo:
        """The repository that is asked from; outside of any, the one where all recipients are."""
        if scope.repo is not None:
            return scope.repo
        wanted = {party.uid for party in to}
        agents = self._context.store.read(rows.agents)
        homes = {agent.repo for agent in agents if agent.uid in wanted}
        if len(homes) != 1:
            return scope.require_repo()
        return repos.by_id(self._context, homes.pop())

    def _wake(self, work: RunningIntent) -> None:
        asleep: dict[str, str] = dict(work.data.get("asleep", {}))
        for uid in work.data["wake"]:
            try:
                self._resume(Uid(uid), f"{work.intent.id}:{uid}", work.data.get("by"))
            except Conflict:
                continue  # it is awake
            except WindlassError as error:
                asleep[uid] = error.message
        if asleep:
            work.keep(asleep=asleep)

    def _reply(self, work: RunningIntent) -> SendReply:
        asleep = work.data.get("asleep", {})

        def read(connection: sa.Connection) -> list[NotedMessage]:
            kept = (mailbox.find(connection, number) for number in work.data["sent"])
            return [
                message_view.noted(
                    self._context, connection, message, asleep=asleep.get(message.recipient)
                )
                for message in kept
                if message is not None
            ]

        return {"messages": work.read(read)}


def _wakes_somebody(data: Mapping[str, Any]) -> bool:
    return bool(data.get("wake"))


def _settles(answered: Message, sender: Party, to: list[Party]) -> bool:
    """Whether a reply deals with what it answers: the one who wrote that gets it.

    The person may answer what an agent asked another.
    """
    if answered.sender not in {party.uid for party in to}:
        return False
    asked = answered.kind == "question" and sender == PERSON
    return asked or answered.recipient == sender.uid
