"""Timers: what is done again and again while the daemon runs, each after a pause of its own.

The table of them is in `daemon/main.py`. What fails is logged, and done again after the next pause.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple

from windlass.core.ports import Clock
from windlass.daemon.kernel.pools import Pools

log = logging.getLogger(__name__)


class Timer(NamedTuple):
    """Something that is done again so many seconds after it was done."""

    name: str
    seconds: float
    work: Callable[[], None]


async def repeat(timer: Timer, clock: Clock, pools: Pools) -> None:
    """Does what a timer is for, after each of its pauses, until cancelled."""
    while True:
        await asyncio.sleep(clock.real(timer.seconds))
        try:
            await pools.run("timer", timer.work)
        except Exception:
            log.exception("%s failed; it is tried again in %g s", timer.name, timer.seconds)
