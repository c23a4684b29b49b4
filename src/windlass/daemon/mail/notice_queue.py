"""Who waits for the notices of one repository, in which order, and what each was given.

A notice leaves the queue only when its reader says that it has it. Until then it is held back for
a few seconds from everybody else, and then offered again: a reader that dies as it prints loses
nothing.

One `wl listen` waits per repository, and goes before the waiting hooks of sessions: somebody has
started it by hand. Of several sessions the one that began to wait last is woken.
"""

from __future__ import annotations

import asyncio

from windlass.api.wire.mail import ListenRequest
from windlass.core.ports import Clock
from windlass.store.noticeboard import Notice

HELD = 5.0
"""Seconds that a reader has to say that it has what it was given."""
_AT_WORK = 600.0
"""A session that was woken waits again when its turn is over, which may be so long after."""


class NoticeListener:
    """Somebody who waits: a `wl listen`, or the waiting hook of a session."""

    def __init__(self, request: ListenRequest) -> None:
        self.route = request["route"]
        self.name = request["listener"]
        self.pid = request.get("pid")
        self.only_looks = request.get("timeout") == 0
        """Whether it does not wait at all: nobody else has to go for it."""
        self.dismissed = ""
        """Why it need not wait any longer."""

    @property
    def is_going(self) -> bool:
        """Whether its place is free for another."""
        return self.only_looks or bool(self.dismissed)


class NoticeQueue:
    """Who waits for the notices of one repository, and what was given out. Of one event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.listeners: list[NoticeListener] = []
        self.news = asyncio.Event()
        self._held_until: dict[int, float] = {}
        self._armed_until = 0.0

    def enter(self, listener: NoticeListener) -> NoticeListener | None:
        """Lets somebody wait; returns who does so already, where there is only one place."""
        for other in self.listeners:
            if (other.route, other.name) == (listener.route, listener.name):
                other.dismissed = other.dismissed or "replaced"
            elif other.route == listener.route == "listen" and not other.is_going:
                return other
        self.listeners.append(listener)
        self.wake()
        return None

    def leave(self, listener: NoticeListener) -> None:
        """Lets the next one have what this one has not been given."""
        self.listeners.remove(listener)
        self.wake()

    def wake(self) -> None:
        """Has everybody look again."""
        self.news.set()
        self.news = asyncio.Event()

    def is_first(self, listener: NoticeListener) -> bool:
        """Whether it is this one's turn: the `wl listen`, else the session that came last."""
        staying = [other for other in self.listeners if not other.dismissed]
        first = [other for other in staying if other.route == "listen"] or staying
        return bool(first) and first[-1] is listener

    def give(self, listener: NoticeListener, waiting: list[Notice], *, held: float) -> list[Notice]:
        """Gives what nobody else was given a moment ago."""
        now = self._clock.monotonic()
        self._held_until = {number: end for number, end in self._held_until.items() if end > now}
        free = [notice for notice in waiting if notice.number not in self._held_until]
        self._held_until |= {notice.number: now + held for notice in free}
        if free:
            self._armed_until = now + (held if listener.route == "listen" else _AT_WORK)
        return free

    def given_back(self) -> float | None:
        """When the next of what was given out, and not taken, is free again."""
        return min(self._held_until.values(), default=None)

    def taken(self, numbers: list[int]) -> None:
        """Holds back what was acknowledged: who read the queue before that still lists it."""
        end = self._clock.monotonic() + HELD
        self._held_until |= dict.fromkeys(numbers, end)

    def dismiss(self) -> None:
        """Ends all waiting."""
        for listener in self.listeners:
            listener.dismissed = listener.dismissed or "ended"
        self._armed_until = 0.0
        self.wake()

    def timed_out(self, held: float) -> None:
        """Counts a listener whose time was over as present for `held` more seconds."""
        self._armed_until = max(self._armed_until, self._clock.monotonic() + held)

    def armed(self) -> bool:
        """Whether news would be heard; safe from any thread."""
        return bool(self.listeners) or self._clock.monotonic() < self._armed_until

    def is_idle(self) -> bool:
        """Whether nobody waits or is about to again, and nothing is held back: it may go."""
        now = self._clock.monotonic()
        return not self.armed() and all(end <= now for end in self._held_until.values())
