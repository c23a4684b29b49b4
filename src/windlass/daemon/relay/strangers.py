"""Who has come to an agent's socket and has not yet shown the word that its session was given.

With the host's network an agent's way to its model is a port of this machine, to which others may
come and stay silent. They take none of the agent's turns: they are counted here, and where there
are too many the oldest is let go, because whoever has the word shows it at once.
"""

from __future__ import annotations

from collections.abc import Callable

from windlass.core.ids import Uid
from windlass.daemon.relay.questions import Peer

MOST_OF_ONE = 64
MOST_OF_ALL = 256


class Strangers:
    """Those of all agents, oldest first, each with what lets it go."""

    def __init__(self) -> None:
        self._of: dict[Uid, dict[Peer, Callable[[], object]]] = {}

    def admit(self, uid: Uid, caller: Peer, let_go: Callable[[], object]) -> None:
        """Takes in one more; lets go the oldest of that agent's, or of whose are most."""
        self._of.setdefault(uid, {})[caller] = let_go
        if len(self._of[uid]) > MOST_OF_ONE:
            self._let_go(uid)
        elif sum(map(len, self._of.values())) > MOST_OF_ALL:
            self._let_go(max(self._of, key=lambda each: len(self._of[each])))

    def part_with(self, uid: Uid, caller: Peer) -> None:
        """Counts one no more, who has shown the word or is gone; may be called twice."""
        own = self._of.get(uid, {})
        own.pop(caller, None)
        if not own:
            self._of.pop(uid, None)

    def _let_go(self, uid: Uid) -> None:
        oldest, let_go = next(iter(self._of[uid].items()))
        self.part_with(uid, oldest)
        let_go()
