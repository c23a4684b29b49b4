"""Schema 12: agents that work off tasks, and the parts of runs that their sessions are."""

from __future__ import annotations

import sqlalchemy as sa

from windlass.store.migrations.change import SchemaChange


def migrate(change: SchemaChange) -> None:
    """Before, nobody worked on a task but by a person's word."""
    for name in ("task", "run"):
        column = sa.Column(name, sa.String(24), nullable=False, server_default="")
        change.add_column("agents", column)
    change.add_column("sessions", sa.Column("part", sa.JSON))
    change.execute(
        "index.one_open_run_per_task",
        "CREATE UNIQUE INDEX one_open_run_per_task ON jobs (repo, kind, subject)"
        " WHERE status = 'open' AND kind IN ('run', 'schedule')",
    )
