"""Waits for something that the daemon itself records: it is looked at again after such events."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from windlass.daemon.kernel.context import Context
from windlass.store.store import Event

T = TypeVar("T")


async def until(
    context: Context,
    look: Callable[[], Awaitable[T]],
    *,
    is_over: Callable[[T], bool],
    heeds: Callable[[Event], bool],
    seconds: float | None,
) -> T:
    """Returns what was seen as soon as it is over, or after so many seconds; None waits for ever.

    On the event loop. Nothing is missed: what happens while it is looked has it look once more.
    """
    loop, news, clock = asyncio.get_running_loop(), asyncio.Event(), context.clock
    end = None if seconds is None else clock.monotonic() + seconds

    def committed(events: list[Event]) -> None:
        if any(map(heeds, events)):
            loop.call_soon_threadsafe(news.set)

    with context.store.listening(committed):
        while True:
            news.clear()
            seen = await look()
            left = None if end is None else end - clock.monotonic()
            if is_over(seen) or (left is not None and left <= 0):
                return seen
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(None if left is None else clock.real(left)):
                    await news.wait()
