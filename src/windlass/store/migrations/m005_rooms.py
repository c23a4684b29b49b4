"""What events are about, how far intents are, and what an agent's role lets it do."""

from __future__ import annotations

import sqlalchemy as sa

from windlass.store.migrations.change import SchemaChange

_EVENTS_OF_A_SUBJECT = """
    CREATE INDEX events_of_a_subject ON events (subject, id) WHERE subject IS NOT NULL
"""
_INTENTS_BY_STATUS = "CREATE INDEX intents_by_status_and_age ON intents (status, updated_at)"
_MESSAGES_BY_STATE = """
    CREATE INDEX IF NOT EXISTS messages_by_state ON messages (state, expires_at)
"""
"""The first stores of schema 4 were made without it."""


def migrate(change: SchemaChange) -> None:
    """Events of before have no subject; intents of before are of version 1 and count their steps.

    The index of intents by status alone goes, because the new one begins with the status. Of the
    agents of before managers alone start others.
    """
    change.add_column("events", sa.Column("subject", sa.Text))
    change.execute("index.events_of_a_subject", _EVENTS_OF_A_SUBJECT)
    change.add_column("intents", sa.Column("done", sa.JSON, nullable=False, server_default="[]"))
    version = sa.Column("version", sa.Integer, nullable=False, server_default="1")
    change.add_column("intents", version)
    change.execute("index.intents_by_status_and_age", _INTENTS_BY_STATUS)
    change.execute("no_index.intents_by_status", "DROP INDEX intents_by_status")
    change.execute("index.messages_by_state", _MESSAGES_BY_STATE)
    change.widen("agents", "role", "VARCHAR(32)")
    for name in ("spawns", "persistent", "readonly"):
        allowed = sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false())
        change.add_column("agents", allowed)
    change.execute("managers", "UPDATE agents SET spawns = TRUE WHERE role = 'manager'")
