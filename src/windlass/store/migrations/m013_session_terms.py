"""Schema 13: how each session runs, and what pays for it."""

from __future__ import annotations

import sqlalchemy as sa

from windlass.store.migrations.change import SchemaChange


def migrate(change: SchemaChange) -> None:
    """Sessions ran as their agents do; what paid for them nobody wrote down."""
    change.add_column(
        "sessions", sa.Column("mode", sa.String(16), nullable=False, server_default="")
    )
    change.add_column(
        "sessions", sa.Column("credential", sa.Text, nullable=False, server_default="")
    )
    change.execute(
        "sessions.mode",
        "UPDATE sessions SET mode ="
        " coalesce((SELECT agents.mode FROM agents WHERE agents.uid = sessions.agent), '')",
    )
