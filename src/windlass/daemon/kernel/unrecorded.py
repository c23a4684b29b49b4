"""Intents of which something happened that the store did not take: a full disk, most often.

Whoever asked for one is told that it failed, but the store does not know. It goes on later, and
must not find that the agent whose work it kept has worked on meanwhile: nothing else is begun with
its agents until then.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import NamedTuple

from windlass.core.errors import Unavailable
from windlass.core.ids import Uid
from windlass.store.rows import Intent


class _Left(NamedTuple):
    """What is known of an intent without asking the store."""

    kind: str
    agents: frozenset[Uid]


class Unrecorded:
    """Remembers such intents, from any thread."""

    def __init__(self) -> None:
        self._left: dict[str, _Left] = {}
        self._guard = threading.Lock()

    def keys(self) -> list[str]:
        """The keys of those that are left."""
        with self._guard:
            return list(self._left)

    def add(self, intent: Intent, agents: Iterable[Uid]) -> None:
        """Remembers one, and the agents that it is about."""
        with self._guard:
            self._left[intent.id] = _Left(intent.kind, frozenset(agents))

    def discard(self, key: str) -> None:
        """Forgets one that is over, if it is there."""
        with self._guard:
            self._left.pop(key, None)

    def refuse(self, agents: Iterable[Uid]) -> None:
        """Refuses to begin anything with agents that one of them is about."""
        wanted = frozenset(agents)
        with self._guard:
            kinds = {left.kind for left in self._left.values() if left.agents & wanted}
        if kinds:
            raise Unavailable(
                f"{', '.join(sorted(kinds))} was begun here before, could not be recorded, and goes"
                " on by itself",
                "free some disk space, then look again: wl list",
            )


def what_follows(intent: Intent) -> str:
    """Says what becomes of an intent that could not be recorded."""
    if intent.error is not None:
        return "put that right; what can be taken back is, by itself: then look, and do it again"
    return "put that right, and it goes on by itself; it need not be asked for again"
