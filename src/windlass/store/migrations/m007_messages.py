"""Schema 7: events of messages are found by the message that they are about."""

from __future__ import annotations

import sqlalchemy as sa

from windlass.store.migrations.change import SchemaChange

_EVENTS = sa.table(
    "events",
    sa.column("kind", sa.Text),
    sa.column("data", sa.JSON),
    sa.column("subject", sa.Text),
)


def migrate(change: SchemaChange) -> None:
    """Events of before were about their agent, or nobody; which message it was is in their data."""
    message = _EVENTS.c.data["id"].as_string()
    change.execute(
        "subjects",
        sa.update(_EVENTS)
        .where(_EVENTS.c.kind.startswith("message."), message.is_not(None))
        .values(subject=sa.literal("message:") + message),
    )
