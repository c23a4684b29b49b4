"""Schema 6: what was seen of an agent, as data beside the sentence."""

from __future__ import annotations

import sqlalchemy as sa

from windlass.store.migrations.change import SchemaChange


def migrate(change: SchemaChange) -> None:
    """Of what was seen before only the sentence is known."""
    change.add_column("observations", sa.Column("reason", sa.JSON))
