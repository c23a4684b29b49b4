"""How much of the store each agent fills with what it says, asks for, and has its hooks tell.

Counted with what is written, about as large as it is there. Who has filled its share is refused
whatever would be recorded for it, and nothing more of what it tells is read.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from windlass.core.crew import Agent
from windlass.core.errors import Conflict
from windlass.core.ids import RepoId, Uid
from windlass.daemon.kernel import repos, settings
from windlass.daemon.kernel.context import Context
from windlass.store import kept
from windlass.store.rows import Intent
from windlass.store.store import Writing

KEY = "box.store_mb"
MEBIBYTE = 1 << 20
_ROW = 300
"""Bytes of a row with its indexes, without what it says."""
_COPIES = 2
"""How often what an event says is kept: most of it stands in a message or a notice too."""


class Share(NamedTuple):
    """What an agent has filled of the store, and may fill, in bytes."""

    filled: int
    limit: int
    """0 is none."""

    @property
    def is_full(self) -> bool:
        """Whether nothing more may be written for it."""
        return 0 < self.limit <= self.filled


def limit(context: Context, repo: RepoId) -> int:
    """The bytes that each agent of a repository may fill; 0 is no limit."""
    root = repos.by_id(context, repo).root
    return settings.usable(context.folders.home, root).config.box.store_mb * MEBIBYTE


def of(context: Context, agent: Agent) -> Share:
    """An agent's share; without a look at the configuration while there is so little in it."""
    filled = context.store.read(lambda c: kept.of(c, agent.uid)).store
    return Share(filled, limit(context, agent.repo) if filled >= MEBIBYTE else 0)


def refuse_full(writing: Writing, uid: Uid, most: int) -> None:
    """Refuses what would be recorded for an agent that has filled its share."""
    share = Share(kept.of(writing.connection, uid).store, most)
    if share.is_full:
        raise Conflict(
            f"you have filled {share.filled // MEBIBYTE} MiB of Windlass's store, and {KEY} is"
            f" {share.limit // MEBIBYTE}",
            f"nothing more is recorded for you; the person may raise it: wl config set {KEY}"
            f" {2 * share.limit // MEBIBYTE}",
        )


def count(writing: Writing, uid: Uid, intent: Intent | None = None) -> None:
    """Counts what a transaction has written for an agent, and what it recorded of its request."""
    said = sum(_ROW + _COPIES * len(msgspec.json.encode(event.data)) for event in writing.events)
    if intent is not None:
        said += _ROW + len(msgspec.json.encode((intent.data, intent.result)))
    if said:
        kept.add_store(writing, uid, said)
