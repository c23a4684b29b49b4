"""Schema 11: how trees fared in the gate."""

from __future__ import annotations

import sqlalchemy as sa

from windlass.store.migrations.change import SchemaChange, counted

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


def migrate(change: SchemaChange) -> None:
    """Before, there was no gate."""
    change.add_table(_VERDICTS)
