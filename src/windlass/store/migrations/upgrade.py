"""Brings a database up to date: one migration after the other, each whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

from windlass.core.errors import ConfigError
from windlass.core.ports import Reached
from windlass.core.schema import SCHEMA
from windlass.store.migrations import (
    m001_foundation,
    m002_real_agents,
    m003_boxes,
    m004_mail,
    m005_rooms,
    m006_reasons,
    m007_messages,
    m008_tries,
    m009_kept,
    m010_jobs_and_verdicts,
    m011_changes,
    m012_runs,
    m013_session_terms,
    m014_kinds_of_events,
)
from windlass.store.migrations.change import SchemaChange

MIGRATIONS: tuple[Callable[[SchemaChange], None], ...] = (
    m001_foundation.migrate,
    m002_real_agents.migrate,
    m003_boxes.migrate,
    m004_mail.migrate,
    m005_rooms.migrate,
    m006_reasons.migrate,
    m007_messages.migrate,
    m008_tries.migrate,
    m009_kept.migrate,
    m010_jobs_and_verdicts.migrate,
    m011_changes.migrate,
    m012_runs.migrate,
    m013_session_terms.migrate,
    m014_kinds_of_events.migrate,
)
VERSION = sa.Table("schema_version", sa.MetaData(), sa.Column("version", sa.Integer))
"""One row: the number of the last migration that the database went through."""


def version(connection: sa.Connection) -> int:
    """The schema of a database; 0 for one that is empty."""
    if not sa.inspect(connection).has_table(VERSION.name):
        return 0
    number = connection.execute(sa.select(VERSION.c.version)).scalar()
    return 0 if number is None else number


def outdated(connection: sa.Connection, *, path: Path) -> int | None:
    """The schema of a database that has to be changed; refuses one that this Windlass cannot."""
    schema = version(connection)
    # SQLite keeps in a column of numbers whatever somebody writes there.
    if not isinstance(schema, int) or schema < 0:
        raise ConfigError(
            f"{path} is not a usable database: its schema is {schema!r:.40},"
            f" where a number up to {SCHEMA} should be",
            "the file is untouched: put a copy of `backups` in its place, or move it away to start"
            " anew (agents' work is in git, not in it)",
        )
    if schema > SCHEMA:
        raise ConfigError(
            f"{path} was made by a newer Windlass (schema {schema}, this one knows {SCHEMA})",
            "upgrade Windlass, or point WINDLASS_HOME at another folder; the file is untouched",
        )
    return schema if schema < SCHEMA else None


def holds_something(connection: sa.Connection) -> bool:
    """Whether there is a row in any table, beside the number of the schema."""
    names = [name for name in sa.inspect(connection).get_table_names() if name != VERSION.name]
    return any(
        connection.execute(sa.select(sa.literal(1)).select_from(sa.table(name)).limit(1)).first()
        for name in names
    )


def migrate(engine: sa.Engine, *, reached: Reached) -> None:
    """Runs what the database has not been through. Each migration commits with its number."""
    for number, step in enumerate(MIGRATIONS, start=1):
        with engine.begin() as connection:
            if version(connection) >= number:
                continue
            change = SchemaChange(connection, number, reached)
            change.reached("begin")
            step(change)
            VERSION.create(connection, checkfirst=True)
            connection.execute(sa.delete(VERSION))
            connection.execute(sa.insert(VERSION).values(version=number))
            change.reached("number")
        change.reached("commit")
