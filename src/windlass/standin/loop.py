"""The one place that waits: for input, for processes, for time and for signals, in one select.

Everything else is written straight down. Whoever waits does it here, so keys, messages and signals
are heard during every hook, tool and pause; a callback that raises ends the wait that it woke.
Nothing polls: with nothing to do the process sleeps in the kernel.
"""

from __future__ import annotations

import contextlib
import heapq
import os
import select
import signal
from collections.abc import Callable
from itertools import count
from time import monotonic
from types import FrameType
from typing import TypeAlias

Callback: TypeAlias = Callable[[], None]


class LoopTimer:
    """A call that is still to come."""

    def __init__(self, callback: Callback) -> None:
        self._callback: Callback | None = callback

    def cancel(self) -> None:
        """Forgets the call."""
        self._callback = None

    def fire(self) -> None:
        """Makes the call, unless it was cancelled."""
        callback, self._callback = self._callback, None
        if callback:
            callback()


class Loop:
    """Readers, writers, timers and signals behind one select."""

    def __init__(self) -> None:
        self._readers: dict[int, Callback] = {}
        self._writers: dict[int, Callback] = {}
        self._signals: dict[int, Callback] = {}
        self._timers: list[tuple[float, int, LoopTimer]] = []
        self._order = count()
        self._wake, wakened = os.pipe()
        for end in (self._wake, wakened):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wakened, warn_on_full_buffer=False)
        self.on_readable(self._wake, self._hear_signals)

    def on_readable(self, fd: int, callback: Callback) -> None:
        """Calls back whenever `fd` has something to read."""
        self._readers[fd] = callback

    def on_writable(self, fd: int, callback: Callback) -> None:
        """Calls back whenever `fd` takes more."""
        self._writers[fd] = callback

    def forget(self, fd: int) -> None:
        """Stops watching `fd`."""
        self._readers.pop(fd, None)
        self._writers.pop(fd, None)

    def on_signal(self, number: int, callback: Callback) -> None:
        """Calls back, outside of the handler, after a signal came."""
        self._signals[number] = callback
        signal.signal(number, _taken)

    def later(self, seconds: float, callback: Callback) -> LoopTimer:
        """Calls back once, after a time."""
        timer = LoopTimer(callback)
        heapq.heappush(self._timers, (monotonic() + seconds, next(self._order), timer))
        return timer

    def wait(self, done: Callable[[], bool], timeout: float | None = None) -> bool:
        """Serves everything until `done()` holds; returns False when the time ran out first."""
        deadline = None if timeout is None else monotonic() + timeout
        while not done():
            now = monotonic()
            if deadline is not None and now >= deadline:
                return False
            self._serve(self._patience(now, deadline))
        return True

    def glance(self) -> None:
        """Serves what is ready now, without waiting."""
        self._serve(0)

    def _patience(self, now: float, deadline: float | None) -> float | None:
        ends = [self._timers[0][0]] if self._timers else []
        if deadline is not None:
            ends.append(deadline)
        return max(0.0, min(ends) - now) if ends else None

    def _serve(self, patience: float | None) -> None:
        readable, writable, _ = select.select([*self._readers], [*self._writers], [], patience)
        while self._timers and self._timers[0][0] <= monotonic():
            heapq.heappop(self._timers)[2].fire()
        for watched, ready in ((self._readers, readable), (self._writers, writable)):
            for fd in ready:
                callback = watched.get(fd)
                if callback:
                    callback()

    def _hear_signals(self) -> None:
        with contextlib.suppress(BlockingIOError):
            came = set(os.read(self._wake, 4096))
            # Ends of processes first: the callbacks of other signals may raise.
            for number in sorted(came, key=lambda number: number != signal.SIGCHLD):
                callback = self._signals.get(number)
                if callback:
                    callback()


def _taken(_number: int, _frame: FrameType | None) -> None:
    """Lets the wake-up pipe carry the signal."""
