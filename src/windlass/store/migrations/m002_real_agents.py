"""What agents spend, the limits they have, and how far each session's files were read."""

from __future__ import annotations

import sqlalchemy as sa

from windlass.store.migrations.change import SchemaChange

_metadata = sa.MetaData()
sa.Table("agents", _metadata, sa.Column("uid", sa.String(16), primary_key=True))

_usage = sa.Table(
    "usage",
    _metadata,
    sa.Column("agent", sa.String(16), sa.ForeignKey("agents.uid"), primary_key=True),
    sa.Column("session", sa.Integer, primary_key=True),
    sa.Column("day", sa.String(10), primary_key=True),
    sa.Column("model", sa.String(128), primary_key=True),
    sa.Column("source", sa.String(16), primary_key=True),
    sa.Column("input_tokens", sa.BigInteger, nullable=False),
    sa.Column("output_tokens", sa.BigInteger, nullable=False),
    sa.Column("cache_creation_input_tokens", sa.BigInteger, nullable=False),
    sa.Column("cache_read_input_tokens", sa.BigInteger, nullable=False),
    sa.Column("cost", sa.Float, nullable=False),
    sa.Column("notional", sa.Boolean, nullable=False),
)


def migrate(change: SchemaChange) -> None:
    """Adds the table of spending; agents and sessions of before have no options, limits, marks."""
    change.add_table(_usage)
    change.add_column("agents", sa.Column("options", sa.JSON, nullable=False, server_default="{}"))
    change.add_column("agents", sa.Column("fork_of", sa.Text))
    change.add_column("agents", sa.Column("limits", sa.JSON, nullable=False, server_default="{}"))
    change.add_column("sessions", sa.Column("marks", sa.JSON, nullable=False, server_default="{}"))
