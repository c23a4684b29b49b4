"""Timers: done again after each pause, whatever goes wrong."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from windlass.daemon.kernel import timers
from windlass.daemon.kernel.clock import SystemClock
from windlass.daemon.kernel.pools import Pools
from windlass.daemon.kernel.timers import Timer


def test_what_fails_is_logged_with_its_name_and_done_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    times: list[int] = []

    async def run() -> None:
        enough = asyncio.Event()
        loop = asyncio.get_running_loop()

        def work() -> None:
            times.append(len(times))
            if len(times) == 3:
                loop.call_soon_threadsafe(enough.set)
            raise OSError("no room")

        pools = Pools()
        timer = Timer("room on the disk", 15.0, work)
        running = asyncio.create_task(timers.repeat(timer, SystemClock(1000.0), pools))
        async with asyncio.timeout(10):
            await enough.wait()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        pools.join()

    asyncio.run(run())
    assert len(times) == 3
    assert "room on the disk failed; it is tried again in 15 s" in caplog.text
