"""What has to stay however old it is: what unfinished intents name, and what `wl undo` takes next.

An intent names things of before it began: a salvage that it brings back, the archive of an agent, a
message. So whatever occurs in its record stays, and so does all that is newer than it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import sqlalchemy as sa

from windlass.core.ids import RepoId
from windlass.daemon.agents import undo
from windlass.git.trash import TrashEntry
from windlass.store import rows


class Needs(msgspec.Struct, frozen=True):
    """What unfinished intents need: the words of all of them, and since when the oldest waits."""

    words: str
    since: float

    def names(self, *words: str) -> bool:
        """Whether one of these occurs in any of them."""
        return any(word in self.words for word in words if word)


def of_intents(connection: sa.Connection) -> Needs:
    """Reads what is unfinished: open, set aside or halted."""
    unfinished = (*rows.open_intents(connection), *rows.set_aside(connection))
    words = "\n".join(msgspec.json.encode(intent.data).decode() for intent in unfinished)
    return Needs(words, min((intent.created_at for intent in unfinished), default=float("inf")))


def of_undo(
    connection: sa.Connection, repo: RepoId, entries: Mapping[str, TrashEntry]
) -> frozenset[str]:
    """The uids of the agents that the next `wl undo` of anybody would bring back."""
    callers = (None, *(agent.uid for agent in rows.agents(connection, repo=repo)))
    found = (undo.last_undoable(connection, repo, caller, entries) for caller in callers)
    endings = [intent for intent in found if intent is not None]
    return frozenset(uid for intent in endings for uid in intent.data.get("closed", []))
