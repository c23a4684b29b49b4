"""Numbered, append-only migrations. A released one is never edited; the next one mends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from windlass.core.errors import ConfigError
from windlass.core.schema import SCHEMA
from windlass.store import tables as t

_VERSION = sa.Table("schema_version", sa.MetaData(), sa.Column("version", sa.Integer))


def m001_foundation(connection: sa.Connection) -> None:
    """Repos, agents, sessions, observations, events and intents."""
    made = (t.repos, t.agents, t.sessions, t.observations, t.events, t.intents)
    t.metadata.create_all(connection, tables=made)
    connection.exec_driver_sql(t.ONE_LIVE_AGENT_PER_ID)


def m002_real_agents(connection: sa.Connection) -> None:
    """What agents spend, the limits they have, and how far each session's files were read."""
    t.usage.create(connection)
    _add_column(connection, t.agents.c.options)
    _add_column(connection, t.agents.c.fork_of)
    _add_column(connection, t.agents.c.limits)
    _add_column(connection, t.sessions.c.marks)


def m003_boxes(connection: sa.Connection) -> None:
    """What confines each agent; those from before have hooks alone."""
    _add_column(connection, t.agents.c.isolation)
    _add_column(connection, t.agents.c.network)


def m004_mail(connection: sa.Connection) -> None:
    """What agents and people say to each other, and what the person's own agent is told."""
    t.messages.create(connection)
    t.notices.create(connection)


def m005_roles(connection: sa.Connection) -> None:
    """What each agent's role lets it do; of those from before, managers alone start agents."""
    for column in (t.agents.c.spawns, t.agents.c.persistent, t.agents.c.readonly):
        _add_column(connection, column)
    managers = sa.update(t.agents).where(t.agents.c.role == "manager")
    connection.execute(managers.values(spawns=True))


MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = (
    m001_foundation,
    m002_real_agents,
    m003_boxes,
    m004_mail,
    m005_roles,
)


def _add_column(connection: sa.Connection, column: sa.Column[Any]) -> None:
    """Adds a column, unless the table was only just made in its present shape."""
    table = column.table.name
    if column.name in {found["name"] for found in sa.inspect(connection).get_columns(table)}:
        return
    made = sa.schema.CreateColumn(column).compile(dialect=connection.dialect)
    connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {made}")


def migrate(connection: sa.Connection, *, where: str) -> None:
    """Brings the database up to date; refuses one that a newer Windlass made."""
    _VERSION.create(connection, checkfirst=True)
    found = connection.execute(sa.select(_VERSION.c.version)).scalar() or 0
    if found > SCHEMA:
        raise ConfigError(
            f"{where} was made by a newer Windlass (schema {found}, this one knows {SCHEMA})",
            "upgrade Windlass, or point WINDLASS_HOME at another folder; the file is untouched",
        )
    for number, step in enumerate(MIGRATIONS[found:], start=found + 1):
        step(connection)
        connection.execute(sa.delete(_VERSION))
        connection.execute(sa.insert(_VERSION).values(version=number))
