"""Schema 10: what waits longer than a command, how trees fared in the gate, what is to land."""

from __future__ import annotations

import sqlalchemy as sa

from windlass.store.migrations.change import SchemaChange, counted

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
_VERDICTS = sa.Table(
    "verdicts",
    sa.MetaData(),
    counted("id"),
    sa.Column("repo", sa.String(8), nullable=False),
    sa.Column("tree", sa.String(64), nullable=False),
    sa.Column("check", sa.Text, nullable=False),
    sa.Column("check_key", sa.String(16), nullable=False),
    sa.Column("layer", sa.String(16), nullable=False),
    sa.Column("box", sa.String(16), nullable=False),
    sa.Column("versions", sa.String(16), nullable=False),
    sa.Column("outcome", sa.String(16), nullable=False),
    sa.Column("code", sa.Integer),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("tests", sa.Integer),
    sa.Column("skipped", sa.Integer),
    sa.Column("failed", sa.JSON, nullable=False),
    sa.Column("why", sa.Text, nullable=False),
    sa.Column("log", sa.Text, nullable=False),
    sa.Column("host", sa.String(64), nullable=False),
    sa.Column("at", sa.Float, nullable=False),
)
sa.Index("verdicts_of_a_tree", _VERDICTS.c.repo, _VERDICTS.c.tree, _VERDICTS.c.check_key)
sa.Index("verdicts_by_age", _VERDICTS.c.at)
_CHANGES = sa.Table(
    "changes",
    sa.MetaData(),
    sa.Column("repo", sa.String(8), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("id", sa.String(16), nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("branch", sa.Text, nullable=False),
    sa.Column("head", sa.String(64), nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("why", sa.Text, nullable=False),
    sa.Column("author", sa.String(16)),
    sa.Column("commit", sa.String(64)),
    sa.Column("tree", sa.String(64)),
    sa.Column("ticket", sa.JSON),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("updated_at", sa.Float, nullable=False),
)
sa.Index("changes_by_state", _CHANGES.c.repo, _CHANGES.c.state)


def migrate(change: SchemaChange) -> None:
    """Before, nothing waited longer than a command, and there was no gate."""
    change.add_table(_JOBS)
    change.add_table(_VERDICTS)
    change.add_table(_CHANGES)
