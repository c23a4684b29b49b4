"""Schema 3: what confines each agent."""

from __future__ import annotations

import sqlalchemy as sa

from windlass.store.migrations.change import SchemaChange


def migrate(change: SchemaChange) -> None:
    """Agents of before have hooks alone, and the network of their host."""
    isolation = sa.Column("isolation", sa.String(16), nullable=False, server_default="hooks")
    network = sa.Column("network", sa.String(16), nullable=False, server_default="host")
    change.add_column("agents", isolation)
    change.add_column("agents", network)
