"""Numbered, append-only migrations. A released one is never edited; the next one mends it."""

from __future__ import annotations

from collections.abc import Callable

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


MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = (m001_foundation,)


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
