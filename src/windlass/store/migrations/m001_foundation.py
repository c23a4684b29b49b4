"""Repos, agents, sessions, observations, events and intents."""

from __future__ import annotations

import sqlalchemy as sa

from windlass.store.migrations.change import SchemaChange, counted

_metadata = sa.MetaData()

_repos = sa.Table(
    "repos",
    _metadata,
    sa.Column("id", sa.String(8), primary_key=True),
    sa.Column("root", sa.Text, nullable=False),
    sa.Column("git_dir", sa.Text, nullable=False, unique=True),
    sa.Column("added_at", sa.Float, nullable=False),
)

_agents = sa.Table(
    "agents",
    _metadata,
    sa.Column("uid", sa.String(16), primary_key=True),
    sa.Column("repo", sa.String(8), sa.ForeignKey("repos.id"), nullable=False),
    sa.Column("id", sa.String(48), nullable=False),
    sa.Column("role", sa.String(16), nullable=False),
    sa.Column("parent", sa.String(16)),
    sa.Column("goal", sa.Text, nullable=False),
    sa.Column("driver", sa.String(32), nullable=False),
    sa.Column("model", sa.Text),
    sa.Column("mode", sa.String(16), nullable=False),
    sa.Column("branch", sa.Text),
    sa.Column("workspace", sa.Text, nullable=False),
    sa.Column("base", sa.String(64), nullable=False),
    sa.Column("base_from", sa.Text, nullable=False),
    sa.Column("policy", sa.JSON, nullable=False),
    sa.Column("script", sa.Text),
    sa.Column("slot", sa.Integer, nullable=False),
    sa.Column("archive", sa.Text),
    sa.Column("conversation", sa.String(36), nullable=False),
    sa.Column("session", sa.Integer, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("state_at", sa.Float, nullable=False),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("ended_at", sa.Float),
    sa.Column("ended_by", sa.Text),
)
_ONE_LIVE_AGENT_PER_ID = """
    CREATE UNIQUE INDEX one_live_agent_per_id ON agents (repo, id) WHERE ended_at IS NULL
"""

_sessions = sa.Table(
    "sessions",
    _metadata,
    sa.Column("agent", sa.String(16), sa.ForeignKey("agents.uid"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("marker", sa.String(36), nullable=False, unique=True),
    sa.Column("started_at", sa.Float),
    sa.Column("ended_at", sa.Float),
    sa.Column("exit_code", sa.Integer),
    sa.Column("events_offset", sa.Integer, nullable=False),
)

_observations = sa.Table(
    "observations",
    _metadata,
    sa.Column("agent", sa.String(16), sa.ForeignKey("agents.uid"), primary_key=True),
    sa.Column("source", sa.String(16), primary_key=True),
    sa.Column("session", sa.Integer, nullable=False),
    sa.Column("value", sa.String(16), nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("evidence", sa.Text, nullable=False),
)

_events = sa.Table(
    "events",
    _metadata,
    counted("id"),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("repo", sa.String(8)),
    sa.Column("agent", sa.String(16)),
    sa.Column("kind", sa.String(48), nullable=False),
    sa.Column("data", sa.JSON, nullable=False),
)
sa.Index("events_of_an_agent", _events.c.agent, _events.c.id)
sa.Index("events_of_a_repo", _events.c.repo, _events.c.id)

_intents = sa.Table(
    "intents",
    _metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("kind", sa.String(32), nullable=False),
    sa.Column("repo", sa.String(8), nullable=False),
    sa.Column("caller", sa.String(16)),
    sa.Column("data", sa.JSON, nullable=False),
    sa.Column("step", sa.Integer, nullable=False),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("result", sa.JSON),
    sa.Column("error", sa.JSON),
    sa.Column("undone_by", sa.String(64)),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("updated_at", sa.Float, nullable=False),
)
sa.Index("intents_by_status", _intents.c.status)


def migrate(change: SchemaChange) -> None:
    """Makes the first tables."""
    for table in (_repos, _agents, _sessions, _observations, _events, _intents):
        change.add_table(table)
    change.execute("index.one_live_agent_per_id", _ONE_LIVE_AGENT_PER_ID)
