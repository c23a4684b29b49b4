"""Stores as older Windlasses left them, from dumps that their own code made."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import sqlalchemy as sa

_DUMPS = Path(__file__).parent / "schemas"
SCHEMAS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13)

Contents = dict[str, tuple[list[str], list[tuple[Any, ...]]]]
"""The rows of each table, and the columns that they have."""


def make(path: Path, schema: int) -> None:
    """Makes a store of that schema, with something in every table; of schema 0, none at all."""
    if schema == 0:
        return
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((_DUMPS / f"schema_{schema}.sql").read_text())


def contents(path: Path) -> Contents:
    """Everything that a store holds, but for the number of its schema."""
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        names = [name for (name,) in tables if name != "schema_version"]
        return {name: _rows(connection, name, "*") for name in names}


def still_held(path: Path, before: Contents) -> Contents:
    """What a store holds now in the tables and columns that it had before."""
    with closing(sqlite3.connect(path)) as connection:
        return {
            name: _rows(connection, name, ", ".join(f'"{column}"' for column in columns))
            for name, (columns, _) in before.items()
        }


def schema_of(path: Path) -> int:
    """The number of a store's schema."""
    with closing(sqlite3.connect(path)) as connection:
        (version,) = connection.execute("SELECT version FROM schema_version").fetchone()
    return int(version)


def statements(path: Path) -> set[tuple[str, str]]:
    """What would make each table and index of a store anew."""
    with closing(sqlite3.connect(path)) as connection:
        return set(connection.execute("SELECT name, sql FROM sqlite_master"))


def shape(path: Path) -> dict[str, Any]:
    """The columns, keys and indexes of each table by their names, in no order."""
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        look = sa.inspect(connection)
        tables = {
            table: {
                "columns": {
                    column["name"]: (
                        str(column["type"]),
                        column["nullable"],
                        column["default"],
                    )
                    for column in look.get_columns(table)
                },
                "key": look.get_pk_constraint(table)["constrained_columns"],
                "indexes": _indexes(connection, table),
                "unique": sorted(
                    constraint["column_names"] for constraint in look.get_unique_constraints(table)
                ),
                "foreign": sorted(
                    (key["constrained_columns"], key["referred_table"], key["referred_columns"])
                    for key in look.get_foreign_keys(table)
                ),
            }
            for table in look.get_table_names()
            if table != "schema_version"
        }
    engine.dispose()
    return tables


def _indexes(connection: sa.Connection, table: str) -> dict[str, str]:
    query = sa.text("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = :of")
    return {
        name: " ".join(sql.split()) for name, sql in connection.execute(query, {"of": table}) if sql
    }


def _rows(
    connection: sqlite3.Connection, table: str, columns: str
) -> tuple[list[str], list[tuple[Any, ...]]]:
    rows = connection.execute(f"SELECT {columns} FROM {table}")  # noqa: S608 - names of our own
    return [column[0] for column in rows.description], sorted(rows.fetchall(), key=repr)
