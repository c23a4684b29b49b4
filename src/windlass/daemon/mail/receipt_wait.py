"""The verb `receipts`: waits until messages are queued no more; `wl send` prints what it says."""

from __future__ import annotations

from functools import partial

from windlass.api.verbs import Caller
from windlass.api.wire.mail import NotedMessage, ReceiptsRequest
from windlass.daemon.kernel import lookup, waits
from windlass.daemon.kernel.context import Context
from windlass.daemon.mail import message_lookup, message_view

_LONGEST_WAIT = 86_400.0


class ReceiptWait:
    """Answers who wants to know what became of messages."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def wait(self, caller: Caller, request: ReceiptsRequest) -> list[NotedMessage]:
        """What became of messages, as soon as none is queued any more, or the time is over."""
        return await waits.until(
            self._context,
            partial(self._context.pools.look, caller, partial(self._look, caller, request)),
            is_over=lambda noted: all(v["state"] != "queued" or v["note"] for v in noted),
            heeds=lambda event: event.kind.startswith("message."),
            seconds=min(max(request["timeout"], 0.0), _LONGEST_WAIT),
        )

    def _look(self, caller: Caller, request: ReceiptsRequest) -> list[NotedMessage]:
        scope = lookup.scope(self._context, caller, request)
        named = message_lookup.find_all(self._context, scope, request["messages"])
        for message in named:
            message_lookup.refuse_strangers(scope, message)
        return self._context.store.read(
            lambda c: [message_view.noted(self._context, c, message) for message in named]
        )
