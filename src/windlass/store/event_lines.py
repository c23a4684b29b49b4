"""The log of one agent as lines of JSON, some at a time and in order, as it is kept.

What events carry is passed on as the text that it is: to take a million of them apart and put them
together again takes half a minute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import sqlalchemy as sa

from windlass.core.ids import Uid
from windlass.store import tables
from windlass.store.store import Store

_C = tables.events.c
_AT_ONCE = 1000
"""Events of one question: others read meanwhile, and none waits for a long one."""


class _Line(msgspec.Struct, frozen=True):
    """An event with what it carries as it is stored; otherwise as `store.Event`."""

    id: int
    at: float
    kind: str
    repo: str | None
    agent: str | None
    data: msgspec.Raw
    subject: str | None


class Extent(msgspec.Struct, frozen=True):
    """Where the last events of an agent begin: after which number, and how many are before."""

    after: int
    earlier: int


def last(store: Store, agent: Uid, count: int) -> Extent:
    """Finds where the last `count` events of an agent begin."""
    mine = _C.agent == agent
    before = sa.select(_C.id).where(mine).order_by(_C.id.desc()).offset(count).limit(1)
    after = store.read(lambda c: c.execute(before).scalar())
    if after is None:
        return Extent(0, 0)
    earlier = sa.select(sa.func.count()).where(mine, _C.id <= after)
    return Extent(after, store.read(lambda c: int(c.execute(earlier).scalar_one())))


def lines(store: Store, agent: Uid, *, after: int) -> Iterator[bytes]:
    """Yields the events of an agent behind a number, oldest first, many lines at a time."""
    encoder = msgspec.json.Encoder()
    data = sa.type_coerce(_C.data, sa.Text)
    columns = (_C.id, _C.at, _C.kind, _C.repo, _C.agent, data, _C.subject)
    while True:
        query = sa.select(*columns).where(_C.agent == agent, _C.id > after)
        rows = store.read(partial(_answer, query=query.order_by(_C.id).limit(_AT_ONCE)))
        if not rows:
            return
        yield encoder.encode_lines([*map(_line, rows)])
        after = rows[-1][0]


def _line(row: sa.Row[Any]) -> _Line:
    number, at, kind, repo, agent, data, subject = tuple(row)
    return _Line(number, at, kind, repo, agent, msgspec.Raw(data.encode()), subject)


def _answer(connection: sa.Connection, query: sa.Select[Any]) -> Sequence[sa.Row[Any]]:
    return connection.execute(query).all()
