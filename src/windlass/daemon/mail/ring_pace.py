"""How often the person's own program is run for one agent.

An agent can have its state waver as often as it likes, and each time there is a notice. A few are
rung for at once. Then there is a pause, and at its end one ring for the latest notice, which says
how many were left out. While it goes on, each pause is twice as long as the one before.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import NamedTuple

from windlass.core.ids import Uid
from windlass.daemon.kernel.context import Context
from windlass.store.store import Event

AT_ONCE = 5
WITHIN = 60.0
LONGEST_PAUSE = 3600.0


class Ring(NamedTuple):
    """A notice to ring for now, and how many of its agent were left out before it."""

    notice: Event
    left_out: int = 0


class _Bell:
    """Of one agent: when it was rung, and since it is too much, what waits for the pause's end."""

    def __init__(self) -> None:
        self.rung: deque[float] = deque(maxlen=AT_ONCE)
        self.pause = 0.0
        self.quiet_until = 0.0
        self.held: Event | None = None
        self.left_out = 0

    def hold(self, notice: Event) -> None:
        """Keeps the latest notice, and counts the one that it had kept."""
        self.left_out += self.held is not None
        self.held = notice

    def is_too_much(self, now: float) -> bool:
        """Whether there was a ring for each of the last few notices, all of them just now."""
        return len(self.rung) == AT_ONCE and now - self.rung[0] < WITHIN

    def begin_pause(self, now: float) -> None:
        """Begins a pause, twice as long as one that has just ended."""
        self.pause = min(LONGEST_PAUSE, 2 * self.pause or WITHIN)
        self.quiet_until = now + self.pause


class RingPace:
    """Says for which notices to ring, and when. Safe from many threads at once."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._bells: dict[Uid, _Bell] = context.memory.per_agent()
        self._guard = threading.Lock()

    def take(self, notice: Event) -> Ring | None:
        """Takes a new notice: to be rung for now, or kept for the end of its agent's pause."""
        if notice.agent is None:
            return Ring(notice)
        now = self._context.clock.monotonic()
        with self._guard:
            bell = self._bells.setdefault(notice.agent, _Bell())
            if not bell.pause and bell.is_too_much(now):
                bell.begin_pause(now)
            if bell.pause:
                bell.hold(notice)
                return None
            bell.rung.append(now)
            return Ring(notice)

    def due(self) -> list[Ring]:
        """Ends the pauses that are over; returns what is to be rung for because of that."""
        now = self._context.clock.monotonic()
        rings = []
        with self._guard:
            for bell in list(self._bells.values()):
                if not bell.pause or now < bell.quiet_until:
                    continue
                if bell.held is not None:
                    rings.append(Ring(bell.held, bell.left_out))
                if bell.left_out:
                    bell.begin_pause(now)
                else:
                    bell.pause = 0.0
                bell.held, bell.left_out = None, 0
        return rings
