"""Finished intents that are old: which there are, and their removal, some at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from windlass.store import tables
from windlass.store.store import Writing

_C = tables.intents.c
_FINISHED = ("done", "failed")


def old(
    connection: sa.Connection, *, before: float, besides: Iterable[str], limit: int
) -> list[str]:
    """Lists finished intents that nobody changed since.

    Those of the kinds `besides` are among them only where they failed or were undone.
    """
    reversible = sa.and_(_C.kind.in_(list(besides)), _C.status == "done", _C.undone_by.is_(None))
    query = (
        sa.select(_C.id)
        .where(_C.status.in_(_FINISHED), _C.updated_at < before, sa.not_(reversible))
        .limit(limit)
    )
    return [row.id for row in connection.execute(query)]


def old_and_reversible(
    connection: sa.Connection, *, before: float, kinds: Iterable[str]
) -> list[str]:
    """Lists those of these kinds that were done before, and that nobody has undone."""
    query = sa.select(_C.id).where(
        _C.kind.in_(list(kinds)),
        _C.status == "done",
        _C.undone_by.is_(None),
        _C.updated_at < before,
    )
    return [row.id for row in connection.execute(query)]


def remove(writing: Writing, keys: Sequence[str]) -> None:
    """Removes intents, if they are finished."""
    writing.connection.execute(
        sa.delete(tables.intents).where(_C.id.in_(keys), _C.status.in_(_FINISHED))
    )
