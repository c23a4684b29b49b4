"""Rows as structs: read, added, and changed by their columns. Knows no table in particular."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa

from windlass.core import shapes
from windlass.core.errors import NotFound
from windlass.store.store import Writing

S = TypeVar("S", bound=msgspec.Struct)
_OF = "of_"
"""What the names of the parameters begin with that a row is found by."""


def every(
    kind: type[S],
    connection: sa.Connection,
    query: sa.Select[Any],
    bound: Mapping[str, Any] | None = None,
) -> list[S]:
    """The rows that a query finds, as structs; `bound` are the values of its parameters."""
    rows = connection.execute(query, bound).all()
    names = _names(rows[0]) if rows else ()
    return [_shaped(kind, names, row) for row in rows]


def as_added(connection: sa.Connection, table: sa.Table, else_by: sa.Column[Any]) -> Any:
    """The order in which rows were added, which no change of the clock makes another.

    SQLite counts them, whatever their key is; elsewhere the time has to do. The sign keeps it from
    going through a whole table in that order, where an index has the few rows that are asked for.
    """
    is_counted = connection.dialect.name == "sqlite"
    return sa.literal_column(f"+{table.name}.rowid") if is_counted else else_by


def shaped(kind: type[S], row: sa.Row[Any]) -> S:
    """One row as a struct."""
    return _shaped(kind, _names(row), row)


def stored(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values as columns take them; what is missing is NULL in columns of JSON too."""
    return {
        name: sa.null() if value is None else msgspec.to_builtins(value)
        for name, value in values.items()
    }


def add(writing: Writing, table: sa.Table, row: msgspec.Struct) -> None:
    """Adds a row; fails if there is one with its key."""
    values = stored(msgspec.structs.asdict(row))
    writing.connection.execute(sa.insert(table).values(values))


def change(
    writing: Writing,
    table: sa.Table,
    kind: type[S],
    key: Mapping[str, Any],
    columns: Mapping[str, Any],
) -> S:
    """Changes these columns of the row with that key; returns the row as it is now.

    Columns that others changed stay as they are. Raises NotFound if there is no such row.
    """
    keys = tuple(key)
    of = {f"{_OF}{name}": value for name, value in key.items()}
    if columns:
        found = {name: _bound(table.c[name], value) for name, value in columns.items()}
        writing.connection.execute(_changed(table, keys), {**of, **found})
    changed = every(kind, writing.connection, _found(table, keys), of)
    if not changed:
        named = " ".join(str(value) for value in key.values())
        raise NotFound(f"{table.name} has no {named}", "it was never added, or not to this store")
    return changed[0]


def with_key(
    kind: type[S], connection: sa.Connection, table: sa.Table, key: Mapping[str, Any]
) -> S | None:
    """The row with that key, as a struct; None where there is none."""
    of = {f"{_OF}{name}": value for name, value in key.items()}
    rows = every(kind, connection, _found(table, tuple(key)), of)
    return rows[0] if rows else None


# Each is made once: to make one takes longer than to ask it.
@cache
def _found(table: sa.Table, keys: tuple[str, ...]) -> sa.Select[Any]:
    return sa.select(table).where(_with(table, keys))


@cache
def _changed(table: sa.Table, keys: tuple[str, ...]) -> sa.Update:
    """Sets the columns that it is executed with."""
    return sa.update(table).where(_with(table, keys))


def _with(table: sa.Table, keys: tuple[str, ...]) -> sa.ColumnElement[bool]:
    return sa.and_(*(table.c[name] == sa.bindparam(f"{_OF}{name}") for name in keys))


def _bound(column: sa.Column[Any], value: Any) -> Any:
    """A value as a prepared statement takes it; what is missing is NULL in columns of JSON too."""
    if value is None:
        return sa.null() if isinstance(column.type, sa.JSON) else None
    return msgspec.to_builtins(value)


def _names(row: sa.Row[Any]) -> tuple[str, ...]:
    """The columns of a row; msgspec takes no subclass of str as a key, which their names may be."""
    return tuple(str(name) for name in row._fields)


def _shaped(kind: type[S], names: tuple[str, ...], row: sa.Row[Any]) -> S:
    return shapes.convert(dict(zip(names, row, strict=True)), kind, strict=False)
