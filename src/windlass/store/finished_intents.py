"""Finished intents that are old: which there are, and their removal, some at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import sqlalchemy as sa

from windlass.store import tables
from windlass.store.store import Writing

_C = tables.intents.c
_FINISHED = ("done", "failed")
_TEXTS = (_C.data, _C.result, _C.error)


def old(
    connection: sa.Connection, *, before: float, besides: Iterable[str], kept: Iterable[str]
) -> list[str]:
    """Lists finished intents that nobody changed since, but for those that are `kept`.

    Those of the kinds `besides` are among them only where they failed or were undone.
    """
    reversible = sa.and_(_C.kind.in_(list(besides)), _C.status == "done", _C.undone_by.is_(None))
    query = sa.select(_C.id).where(
        _C.status.in_(_FINISHED),
        _C.updated_at < before,
        sa.not_(reversible),
        _C.id.not_in(list(kept)),
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


def size(connection: sa.Connection, keys: Sequence[str]) -> int:
    """About how many bytes intents take."""
    texts = [sa.func.coalesce(sa.func.length(sa.type_coerce(c, sa.Text)), 0) for c in _TEXTS]
    query = sa.select(sa.func.coalesce(sa.func.sum(sa.func.length(_C.id) + sum(texts)), 0))
    return int(connection.execute(query.where(_C.id.in_(keys))).scalar_one())


def remove(writing: Writing, keys: Sequence[str]) -> None:
    """Removes intents, if they are finished."""
    writing.connection.execute(
        sa.delete(tables.intents).where(_C.id.in_(keys), _C.status.in_(_FINISHED))
    )
