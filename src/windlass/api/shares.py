"""What one agent may have under way at once, so that none exhausts what all of them share.

Each socket of an agent has a share of its own; the person has no limit but the size of a request.
How many threads an agent has is said where the threads are: `daemon/kernel/pools.py`.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager

from windlass.core.errors import Unavailable

MOST_OF_ONE = 64
"""So many connections, and requests under way, one agent has at once."""
MOST_WAITS = 16
"""So many of them may wait for something, or follow the log: each is woken by what others do."""
MOST_BYTES = 4 << 20
"""So much an agent may have said in requests that are under way."""
_HINT = "wait for some of them to end"


class Share:
    """What a caller has under way; on the event loop alone."""

    def __init__(self, *, bounded: bool) -> None:
        self._bounded = bounded
        self._size = 0
        self._waits = 0

    @contextmanager
    def request(self) -> Iterator[SaidSoFar]:
        """Counts what is said in a request, as it comes in, until the request is over."""
        said = SaidSoFar(self)
        try:
            yield said
        finally:
            self._size -= said.size

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Counts somebody who waits; refuses one too many."""
        if self._bounded and self._waits >= MOST_WAITS:
            raise Unavailable(f"{self._waits} requests of yours wait already", _HINT)
        self._waits += 1
        try:
            yield
        finally:
            self._waits -= 1

    def add(self, size: int) -> None:
        """Counts bytes; refuses what is more than the share."""
        if self._bounded and self._size + size > MOST_BYTES:
            raise Unavailable(
                f"requests of yours under way say more than {MOST_BYTES >> 20} MiB already", _HINT
            )
        self._size += size


class SaidSoFar:
    """The bytes of one request that have come in, as a part of its caller's share."""

    def __init__(self, share: Share) -> None:
        self._share = share
        self.size = 0

    def add(self, size: int) -> None:
        """Counts more of them."""
        self._share.add(size)
        self.size += size


def too_many_requests() -> Unavailable:
    """What an agent is told that has as many requests under way as it may have."""
    return Unavailable(f"{MOST_OF_ONE} requests of yours are under way already", _HINT)


def too_many_connections() -> Unavailable:
    """What an agent is told when all agents together have as many connections as are theirs."""
    return Unavailable("the daemon has as many connections of agents as it takes", "try again soon")


def most_connections() -> int:
    """How many connections all agents have at once: the other half is the person's and ours."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return soft // 2 if soft != resource.RLIM_INFINITY else 1 << 16
