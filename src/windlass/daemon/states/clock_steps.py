"""A wall clock that is set, or a machine that slept: what lasts is dated anew, as old as it was.

Rows have the time of day. How long an agent is silent, idle or at work is reckoned from it, so a
clock that is set forward by an hour would make all of them idle for an hour, and one that is set
back would have nobody reminded for as long. The log keeps the times that it has.
"""

from __future__ import annotations

import logging
import threading
from functools import partial

from windlass.core.events import ClockStepped
from windlass.daemon.kernel.context import Context
from windlass.store import rows
from windlass.store.store import Writing

log = logging.getLogger(__name__)

_LEAST = 2.0
"""Seconds; what is less is a clock that is kept right bit by bit."""


class ClockSteps:
    """Notices that the wall clock was set while this daemon runs."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._guard = threading.Lock()
        self._offset = context.clock.offset()

    def check(self) -> None:
        """Dates anew what lasts, if the clock was set since the last time."""
        with self._guard:
            offset = self._context.clock.offset()
            step, self._offset = offset - self._offset, offset
            if abs(step) < _LEAST:
                return
            log.warning("the clock was set by %+.0f s, or the machine slept", step)
            self._context.store.write(partial(_date_anew, step=step))


def _date_anew(writing: Writing, *, step: float) -> None:
    rows.shift_what_lasts(writing, step, fresh=_LEAST)
    writing.emit(ClockStepped(seconds=round(step, 1)))
