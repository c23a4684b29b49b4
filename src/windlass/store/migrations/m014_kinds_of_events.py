"""Schema 14: the log by kind, without what hooks said, which is most of it."""

from __future__ import annotations

from windlass.store.migrations.change import SchemaChange


def migrate(change: SchemaChange) -> None:
    """The last of a kind was looked for in the whole log."""
    change.execute(
        "index.events_of_a_kind",
        "CREATE INDEX events_of_a_kind ON events (kind, agent, id) WHERE kind NOT LIKE 'hook.%'",
    )
