"""The verb `receipts`: waits until messages are queued no more; `wl send` prints what it says."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

from windlass.api.verbs import Caller
from windlass.api.wire.mail import NotedMessage, ReceiptsRequest
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.daemon.mail import message_lookup, message_view
from windlass.store.store import Event

_LONGEST_WAIT = 86_400.0


class ReceiptWait:
    """Answers who wants to know what became of messages."""

    def __init__(self, context: Context) -> None:
        self._context = context

    async def wait(self, caller: Caller, request: ReceiptsRequest) -> list[NotedMessage]:
        """What became of messages, as soon as none is queued any more, or the time is over."""
        loop, news = asyncio.get_running_loop(), asyncio.Event()
        clock = self._context.clock
        end = clock.monotonic() + min(max(request["timeout"], 0.0), _LONGEST_WAIT)

        def committed(events: list[Event]) -> None:
            if any(event.kind.startswith("message.") for event in events):
                loop.call_soon_threadsafe(news.set)

        look = partial(self._look, caller, request)
        with self._context.store.listening(committed):
            while True:
                news.clear()
                noted = await self._context.pools.look(caller, look)
                left = end - clock.monotonic()
                if left <= 0 or all(view["state"] != "queued" or view["note"] for view in noted):
                    return noted
                with suppress(TimeoutError):
                    async with asyncio.timeout(clock.real(left)):
                        await news.wait()

    def _look(self, caller: Caller, request: ReceiptsRequest) -> list[NotedMessage]:
        scope = lookup.scope(self._context, caller, request)
        named = message_lookup.find_all(self._context, scope, request["messages"])
        for message in named:
            message_lookup.refuse_strangers(scope, message)
        return self._context.store.read(
            lambda c: [message_view.noted(self._context, c, message) for message in named]
        )
