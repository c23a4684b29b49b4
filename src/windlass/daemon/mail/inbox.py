"""`wl inbox` and `wl message show`: messages as their parties read them."""

from __future__ import annotations

from collections.abc import Iterable

from windlass.api.verbs import Caller
from windlass.api.wire.mail import InboxRequest, MessageReply, MessageRequest, MessageView
from windlass.core.errors import UserError
from windlass.core.mail import messages
from windlass.core.mail.messages import USER, Message
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.daemon.mail import message_lookup, message_view, receipts, recipients
from windlass.store import mailbox
from windlass.store.store import Writing

_SHOWN = 200
"""So many of the newest are shown to who does not say how many."""


class Inbox:
    """Lists and shows messages; the person has seen what it is shown."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def view(self, caller: Caller, request: InboxRequest) -> list[MessageView]:
        """The messages to somebody, or from somebody."""
        scope = lookup.scope(self._context, caller, request)
        party = self._whose(scope, request.get("agent"))
        last = request.get("last")
        if last is not None and last < 1:
            raise UserError(f"the newest {last} messages are none", "give 1 or more")
        states = None if request.get("all") or request.get("sent") else messages.OPEN
        listed = self._context.store.read(
            lambda c: mailbox.inbox(
                c,
                repo=scope.repo_id,
                recipient=None if request.get("sent") else party,
                sender=party if request.get("sent") else None,
                states=states,
                last=last or _SHOWN,
            )
        )
        unseen = request.get("sent") or request.get("peek")
        if scope.caller is None and party == USER and not unseen:
            shown_to_person(self._context, listed)
        return [message_view.view(self._context, message) for message in listed]

    def show(self, caller: Caller, request: MessageRequest) -> MessageReply:
        """One message with everything that is known about it, and what it belongs to."""
        scope = lookup.scope(self._context, caller, request)
        message = message_lookup.find(self._context, scope, request["message"])
        message_lookup.refuse_strangers(scope, message)
        if scope.caller is None:
            shown_to_person(self._context, [message])
        thread = self._context.store.read(lambda c: mailbox.thread(c, message))
        history = self._context.store.read(lambda c: mailbox.history(c, message))
        noted = self._context.store.read(lambda c: message_view.noted(self._context, c, message))
        return {
            **noted,
            "note": noted["note"] or message_view.why_queued(self._context, message),
            "thread": [message_view.view(self._context, reply) for reply in thread],
            "history": [message_view.step(event) for event in history],
        }

    def _whose(self, scope: lookup.Scope, wanted: str | None) -> str:
        """Whose messages are meant: the caller's own, or those of an agent that it may read."""
        own = scope.caller.uid if scope.caller else USER
        if not wanted or (scope.caller is None and recipients.is_person(wanted)):
            return own
        agent = lookup.any_agent(self._context, scope, wanted)
        present = lookup.live(self._context, scope)
        lookup.require_reachable(scope, agent, present, doing="read mail of")
        return agent.uid


def shown_to_person(context: Context, shown: Iterable[Message]) -> None:
    """Records that the person has had messages before its eyes."""
    unseen = [
        message.id for message in shown if message.recipient == USER and message.state == "queued"
    ]

    def change(writing: Writing) -> None:
        for message in (mailbox.find(writing.connection, number) for number in unseen):
            if message is not None and message.state == "queued":
                receipts.delivered(writing, message, "inbox")

    if unseen:
        context.store.write(change)
