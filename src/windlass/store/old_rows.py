"""Rows of the log and of what was said that are older than they are kept: listed, and removed.

Some at a time: a question looks at so many rows, and a change removes so few of them that whoever
writes next does not notice. The newest row of a table always stays, because SQLite gives the number
of a last row that was removed to the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import sqlalchemy as sa

from windlass.core.mail import messages
from windlass.store import jobs
from windlass.store import tables as t
from windlass.store.store import Store, Writing

Kind: TypeAlias = Literal["events", "messages", "notices"]
_LOOKED_AT = 5000
"""Rows that one question looks at."""
_AT_ONCE = 100
"""Rows that one change removes: some milliseconds."""
_OVERHEAD = 60
"""Bytes of a row beside its texts, about: numbers, times and its places in indexes."""
_C, _M, _N = t.events.c, t.messages.c, t.notices.c


class OldRows(NamedTuple):
    """Rows that are over: their numbers, and about how many bytes they take."""

    numbers: list[int]
    size: int


class _Table(NamedTuple):
    """How rows of a table are found: their number, since when nothing happens to them, a size."""

    number: sa.Column[Any]
    since: sa.ColumnElement[Any]
    size: sa.ColumnElement[Any]
    over: sa.ColumnElement[bool] = sa.true()


_OPEN_MESSAGE = sa.select(_M.id).where(_M.state.in_(messages.OPEN))
_TABLES: dict[Kind, _Table] = {
    "events": _Table(_C.id, _C.at, sa.func.length(sa.type_coerce(_C.data, sa.Text))),
    "messages": _Table(
        _M.number,
        sa.func.coalesce(_M.ended_at, _M.acked_at, _M.created_at),
        sa.func.length(_M.body),
        _M.state.not_in(messages.OPEN),
    ),
    "notices": _Table(
        _N.number,
        sa.func.coalesce(_N.taken_at, _N.at),
        sa.func.length(_N.text),
        sa.or_(_N.message.is_(None), _N.message.not_in(_OPEN_MESSAGE)),
    ),
}


def parts(store: Store, kind: Kind, *, before: float) -> Iterator[OldRows]:
    """Finds the rows that are older, part by part; each may be removed before the next."""
    number = _TABLES[kind].number
    ends = sa.select(sa.func.min(number), sa.func.max(number))
    first, newest = store.read(lambda c: c.execute(ends).one())
    if kind == "events" and (heard := store.read(jobs.earliest_cursor)) is not None:
        newest = min(newest or 0, heard)  # what a job has not heard of yet stays
    for begin in range(first or 0, newest or 0, _LOOKED_AT):
        end = min(begin + _LOOKED_AT, newest)
        old = store.read(partial(_old, kind=kind, before=before, begin=begin, end=end))
        for at in range(0, len(old), _AT_ONCE):
            part = old[at : at + _AT_ONCE]
            yield OldRows([row[0] for row in part], sum(row[1] + _OVERHEAD for row in part))


def _old(
    connection: sa.Connection, *, kind: Kind, before: float, begin: int, end: int
) -> list[tuple[int, int]]:
    table = _TABLES[kind]
    within = (table.number >= begin, table.number < end)
    query = sa.select(table.number, table.size).where(*within, table.since < before, table.over)
    return [(row[0], row[1]) for row in connection.execute(query.order_by(table.number))]


def remove(writing: Writing, kind: Kind, numbers: Sequence[int]) -> None:
    """Removes rows, but for those that something happened to since they were found."""
    table = _TABLES[kind]
    gone = sa.delete(table.number.table).where(table.number.in_(numbers), table.over)
    writing.connection.execute(gone)
