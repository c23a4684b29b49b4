"""Schema 9: how much is kept of what agents made."""

from __future__ import annotations

import sqlalchemy as sa

from windlass.store.migrations.change import SchemaChange

_KEPT = sa.Table(
    "kept",
    sa.MetaData(),
    sa.Column("agent", sa.String(16), primary_key=True),
    sa.Column("home", sa.BigInteger, nullable=False),
    sa.Column("tip", sa.String(64), nullable=False),
    sa.Column("last", sa.BigInteger, nullable=False),
    sa.Column("store", sa.BigInteger, nullable=False),
)


def migrate(change: SchemaChange) -> None:
    """Of agents of before nobody counted: they begin with nothing."""
    change.add_table(_KEPT)
