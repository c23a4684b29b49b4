"""Schema 11: branches proposed for landing."""

from __future__ import annotations

import sqlalchemy as sa

from windlass.store.migrations.change import SchemaChange

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
    sa.Column("task", sa.String(24), nullable=False),
    sa.Column("needs", sa.JSON, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("why", sa.Text, nullable=False),
    sa.Column("author", sa.String(16)),
    sa.Column("guards", sa.JSON, nullable=False),
    sa.Column("edits", sa.JSON, nullable=False),
    sa.Column("approval", sa.JSON),
    sa.Column("seen", sa.String(64), nullable=False),
    sa.Column("blocked", sa.Text, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("alone", sa.Boolean, nullable=False),
    sa.Column("ends", sa.Boolean, nullable=False),
    sa.Column("deletes", sa.Boolean, nullable=False),
    sa.Column("unattended", sa.Boolean, nullable=False),
    sa.Column("reverts", sa.String(16)),
    sa.Column("orphaned", sa.Boolean, nullable=False),
    sa.Column("past", sa.JSON, nullable=False),
    sa.Column("ticket", sa.JSON),
    sa.Column("was", sa.String(64)),
    sa.Column("commit", sa.String(64)),
    sa.Column("tree", sa.String(64)),
    sa.Column("verdict", sa.Text, nullable=False),
    sa.Column("usd", sa.Float),
    sa.Column("landed_at", sa.Float),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("updated_at", sa.Float, nullable=False),
)
sa.Index("changes_by_state", _CHANGES.c.repo, _CHANGES.c.state)


def migrate(change: SchemaChange) -> None:
    """Before, nothing landed by the gate."""
    change.add_table(_CHANGES)
