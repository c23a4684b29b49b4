"""Schema 10: what waits longer than a command."""

from __future__ import annotations

import sqlalchemy as sa

from windlass.store.migrations.change import SchemaChange

_JOBS = sa.Table(
    "jobs",
    sa.MetaData(),
    sa.Column("id", sa.String(24), primary_key=True),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("repo", sa.String(8), nullable=False),
    sa.Column("state", sa.JSON, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("sequence", sa.Integer, nullable=False),
    sa.Column("cursor", sa.BigInteger, nullable=False),
    sa.Column("wake_at", sa.Float),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("result", sa.JSON),
    sa.Column("error", sa.JSON),
    sa.Column("host", sa.String(64)),
    sa.Column("generation", sa.Integer, nullable=False),
    sa.Column("lease_until", sa.Float),
    sa.Column("tries", sa.Integer, nullable=False),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("updated_at", sa.Float, nullable=False),
)
sa.Index("jobs_by_status_and_age", _JOBS.c.status, _JOBS.c.updated_at)
sa.Index("jobs_about_something", _JOBS.c.repo, _JOBS.c.kind, _JOBS.c.subject)


def migrate(change: SchemaChange) -> None:
    """Before, nothing waited longer than a command."""
    change.add_table(_JOBS)
