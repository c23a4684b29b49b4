"""What agents and people say to each other, and what the person's own agent is told."""

from __future__ import annotations

import sqlalchemy as sa

from windlass.store.migrations.change import SchemaChange, counted

_metadata = sa.MetaData()

_messages = sa.Table(
    "messages",
    _metadata,
    counted("number"),
    sa.Column("id", sa.String(24), nullable=False, unique=True),
    sa.Column("repo", sa.String(8), nullable=False),
    sa.Column("sender", sa.String(16), nullable=False),
    sa.Column("sender_id", sa.String(48), nullable=False),
    sa.Column("recipient", sa.String(16), nullable=False),
    sa.Column("recipient_id", sa.String(48), nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("urgent", sa.Boolean, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("topic", sa.String(64)),
    sa.Column("reply_to", sa.String(24)),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("survivor", sa.String(24)),
    sa.Column("route", sa.String(16)),
    sa.Column("offer", sa.JSON),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("expires_at", sa.Float),
    sa.Column("delivered_at", sa.Float),
    sa.Column("read_at", sa.Float),
    sa.Column("acked_at", sa.Float),
    sa.Column("ended_at", sa.Float),
)
sa.Index("messages_to_somebody", _messages.c.recipient, _messages.c.state, _messages.c.number)
sa.Index("messages_by_state", _messages.c.state, _messages.c.expires_at)
sa.Index("messages_from_somebody", _messages.c.sender, _messages.c.created_at)

_notices = sa.Table(
    "notices",
    _metadata,
    counted("number"),
    sa.Column("repo", sa.String(8), nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("sender", sa.String(48), nullable=False),
    sa.Column("type", sa.String(16), nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("message", sa.String(24)),
    sa.Column("taken_at", sa.Float),
    sa.Column("taken_by", sa.String(16)),
)
sa.Index("notices_of_a_repo", _notices.c.repo, _notices.c.taken_at, _notices.c.number)


def migrate(change: SchemaChange) -> None:
    """Adds the tables of messages and of notices."""
    change.add_table(_messages)
    change.add_table(_notices)
