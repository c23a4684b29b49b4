"""Schema 8: how often an intent was tried."""

from __future__ import annotations

import sqlalchemy as sa

from windlass.store.migrations.change import SchemaChange


def migrate(change: SchemaChange) -> None:
    """Of intents of before nobody counted: they have every try before them."""
    column = sa.Column("tries", sa.Integer, nullable=False, server_default="0")
    change.add_column("intents", column)
