"""How much is kept of what agents made: in their repositories, and in this store.

Counted in the transaction that keeps it, or before, and never counted down: what an agent deletes
or writes anew is kept all the same.
"""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from windlass.core.ids import Uid
from windlass.store import records
from windlass.store import tables as t
from windlass.store.store import Writing


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of one agent, in bytes."""

    agent: Uid
    home: int = 0
    """What its commits have added to the repository, without the last time."""
    tip: str = ""
    """The commit that they came to the last time."""
    last: int = 0
    """What that added."""
    store: int = 0
    """What it said, and what was told of it."""

    @property
    def brought(self) -> int:
        """What all its commits have added to the repository."""
        return self.home + self.last


def of(connection: sa.Connection, uid: Uid) -> Kept:
    """What is kept of an agent."""
    return records.with_key(Kept, connection, t.kept, {"agent": uid}) or Kept(agent=uid)


def add_home(writing: Writing, uid: Uid, tip: str, size: int) -> None:
    """Counts what is about to come home; the same tip again, after a crash, in its own place."""
    known = of(writing.connection, uid)
    home = known.home if tip == known.tip else known.brought
    _put(writing, known, home=home, tip=tip, last=size)


def add_store(writing: Writing, uid: Uid, size: int) -> None:
    """Counts what is kept in this store."""
    known = of(writing.connection, uid)
    _put(writing, known, store=known.store + size)


def _put(writing: Writing, known: Kept, **columns: Any) -> None:
    connection, here = writing.connection, t.kept.c.agent == known.agent
    if connection.execute(sa.update(t.kept).where(here).values(columns)).rowcount == 0:
        records.add(writing, t.kept, msgspec.structs.replace(known, **columns))
