"""The tables, in portable SQL: the same on SQLite and Postgres.

What is true now is in `repos`, `agents`, `sessions` and `observations`, how much is kept of agents
in `kept`; what was said is in `messages` and `notices`; what happened is in `events`; what we set
out to do is in `intents`, and what waits in `jobs`; how trees fared
in the gate is in `verdicts`.

Tables are made and changed by migrations alone. This is what they come to, for whoever asks.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from windlass.core.printable import encodable

metadata = sa.MetaData()


def _counted(name: str) -> sa.Column[int]:
    """A key that the database counts up; SQLite does so only for its own kind of integer."""
    kind = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    return sa.Column(name, kind, primary_key=True, autoincrement=True)


class _Words(sa.types.TypeDecorator[str]):
    """What somebody said, an agent too: what no UTF-8 can hold is shown in it.

    Not for paths, which would lead elsewhere then.
    """

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Makes it text that can be kept."""
        del dialect
        return value if value is None else encodable(value)


def _partial_index(table: sa.Table, statement: str) -> None:
    """An index of some rows, as text that both databases read alike.

    Said as an Index it would import both dialects.
    """

    @sa.event.listens_for(table, "after_create")
    def _made(_table: sa.Table, connection: sa.Connection, **_more: Any) -> None:
        connection.exec_driver_sql(statement)


repos = sa.Table(
    "repos",
    metadata,
    sa.Column("id", sa.String(8), primary_key=True),
    sa.Column("root", sa.Text, nullable=False),
    sa.Column("git_dir", sa.Text, nullable=False, unique=True),
    sa.Column("added_at", sa.Float, nullable=False),
)

agents = sa.Table(
    "agents",
    metadata,
    sa.Column("uid", sa.String(16), primary_key=True),
    sa.Column("repo", sa.String(8), sa.ForeignKey("repos.id"), nullable=False),
    sa.Column("id", sa.String(48), nullable=False),
    sa.Column("role", sa.String(16).with_variant(sa.String(32), "postgresql"), nullable=False),
    sa.Column("spawns", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("persistent", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("readonly", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("parent", sa.String(16)),
    sa.Column("goal", _Words, nullable=False),
    sa.Column("driver", sa.String(32), nullable=False),
    sa.Column("model", sa.Text),
    sa.Column("mode", sa.String(16), nullable=False),
    sa.Column("branch", sa.Text),
    sa.Column("workspace", sa.Text, nullable=False),
    sa.Column("base", sa.String(64), nullable=False),
    sa.Column("base_from", sa.Text, nullable=False),
    sa.Column("policy", sa.JSON, nullable=False),
    sa.Column("script", sa.Text),
    sa.Column("options", sa.JSON, nullable=False, server_default="{}"),
    sa.Column("fork_of", sa.Text),
    sa.Column("limits", sa.JSON, nullable=False, server_default="{}"),
    sa.Column("isolation", sa.String(16), nullable=False, server_default="hooks"),
    sa.Column("network", sa.String(16), nullable=False, server_default="host"),
    sa.Column("slot", sa.Integer, nullable=False),
    sa.Column("archive", sa.Text),
    sa.Column("conversation", sa.String(36), nullable=False),
    sa.Column("session", sa.Integer, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("state_at", sa.Float, nullable=False),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("ended_at", sa.Float),
    sa.Column("ended_by", sa.Text),
    sa.Column("task", sa.String(24), nullable=False, server_default=""),
    sa.Column("run", sa.String(24), nullable=False, server_default=""),
)
_partial_index(
    agents, "CREATE UNIQUE INDEX one_live_agent_per_id ON agents (repo, id) WHERE ended_at IS NULL"
)

sessions = sa.Table(
    "sessions",
    metadata,
    sa.Column("agent", sa.String(16), sa.ForeignKey("agents.uid"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("marker", sa.String(36), nullable=False, unique=True),
    sa.Column("started_at", sa.Float),
    sa.Column("ended_at", sa.Float),
    sa.Column("exit_code", sa.Integer),
    sa.Column("events_offset", sa.Integer, nullable=False, default=0),
    sa.Column("marks", sa.JSON, nullable=False, server_default="{}"),
    sa.Column("part", sa.JSON),
    sa.Column("mode", sa.String(16), nullable=False, server_default=""),
    sa.Column("credential", sa.Text, nullable=False, server_default=""),
)

observations = sa.Table(
    "observations",
    metadata,
    sa.Column("agent", sa.String(16), sa.ForeignKey("agents.uid"), primary_key=True),
    sa.Column("source", sa.String(16), primary_key=True),
    sa.Column("session", sa.Integer, nullable=False),
    sa.Column("value", sa.String(16), nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("evidence", _Words, nullable=False),
    sa.Column("reason", sa.JSON),
)

usage = sa.Table(
    "usage",
    metadata,
    sa.Column("agent", sa.String(16), sa.ForeignKey("agents.uid"), primary_key=True),
    sa.Column("session", sa.Integer, primary_key=True),
    sa.Column("day", sa.String(10), primary_key=True),
    sa.Column("model", sa.String(128), primary_key=True),
    sa.Column("source", sa.String(16), primary_key=True),
    sa.Column("input_tokens", sa.BigInteger, nullable=False),
    sa.Column("output_tokens", sa.BigInteger, nullable=False),
    sa.Column("cache_creation_input_tokens", sa.BigInteger, nullable=False),
    sa.Column("cache_read_input_tokens", sa.BigInteger, nullable=False),
    sa.Column("cost", sa.Float, nullable=False),
    sa.Column("notional", sa.Boolean, nullable=False),
)
"""What was spent, per source: `transcript` counts as it is spent, `result` is what a headless
session reports at the end of a turn, `relay` what the daemon saw when it asked the model on a
session's behalf. The same spending may be in all of them: the greatest one counts."""

kept = sa.Table(
    "kept",
    metadata,
    sa.Column("agent", sa.String(16), primary_key=True),
    sa.Column("home", sa.BigInteger, nullable=False),
    sa.Column("tip", sa.String(64), nullable=False),
    sa.Column("last", sa.BigInteger, nullable=False),
    sa.Column("store", sa.BigInteger, nullable=False),
)
"""Bytes. `home` is what commits had added to the repository before those that came to `tip`, and
`last` what these did."""

messages = sa.Table(
    "messages",
    metadata,
    _counted("number"),
    sa.Column("id", sa.String(24), nullable=False, unique=True),
    sa.Column("repo", sa.String(8), nullable=False),
    sa.Column("sender", sa.String(16), nullable=False),
    sa.Column("sender_id", sa.String(48), nullable=False),
    sa.Column("recipient", sa.String(16), nullable=False),
    sa.Column("recipient_id", sa.String(48), nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("urgent", sa.Boolean, nullable=False),
    sa.Column("body", _Words, nullable=False),
    sa.Column("topic", sa.String(64)),
    sa.Column("reply_to", sa.String(24)),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("reason", _Words, nullable=False),
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
"""Parties are the uid of an agent, `user` or `windlass`; their ids are as they were then. An offer
is what is known of a delivery under way: it is kept before it is made."""
sa.Index("messages_to_somebody", messages.c.recipient, messages.c.state, messages.c.number)
sa.Index("messages_by_state", messages.c.state, messages.c.expires_at)
sa.Index("messages_from_somebody", messages.c.sender, messages.c.created_at)

notices = sa.Table(
    "notices",
    metadata,
    _counted("number"),
    sa.Column("repo", sa.String(8), nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("sender", sa.String(48), nullable=False),
    sa.Column("type", sa.String(16), nullable=False),
    sa.Column("text", _Words, nullable=False),
    sa.Column("message", sa.String(24)),
    sa.Column("taken_at", sa.Float),
    sa.Column("taken_by", sa.String(16)),
)
sa.Index("notices_of_a_repo", notices.c.repo, notices.c.taken_at, notices.c.number)

events = sa.Table(
    "events",
    metadata,
    _counted("id"),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("repo", sa.String(8)),
    sa.Column("agent", sa.String(16)),
    sa.Column("kind", sa.String(48), nullable=False),
    sa.Column("data", sa.JSON, nullable=False),
    sa.Column("subject", sa.Text),
)
"""A subject is what an event is about: `task:PB-1`, `message:` and an id, `agent:` and a uid."""
sa.Index("events_of_an_agent", events.c.agent, events.c.id)
sa.Index("events_of_a_repo", events.c.repo, events.c.id)
_partial_index(
    events,
    "CREATE INDEX events_of_a_subject ON events (subject, id) WHERE subject IS NOT NULL",
)
_partial_index(
    events,
    "CREATE INDEX events_of_a_kind ON events (kind, agent, id) WHERE kind NOT LIKE 'hook.%'",
)

intents = sa.Table(
    "intents",
    metadata,
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
    sa.Column("done", sa.JSON, nullable=False, server_default="[]"),
    sa.Column("version", sa.Integer, nullable=False, server_default="1"),
    sa.Column("tries", sa.Integer, nullable=False, server_default="0"),
)
"""How far an intent is: `done` names its steps so far, `step` counts them. `version` is that of the
operation that it was begun with. An open one with an `error` is being taken back because of that:
then `done` names the steps that were begun and are not undone yet. `tries` counts the daemons that
set to work on it and did not end in good order."""
sa.Index("intents_by_status_and_age", intents.c.status, intents.c.updated_at)

jobs = sa.Table(
    "jobs",
    metadata,
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
"""What waits longer than a command; see `core/jobs.py`. A write counts only under the generation
that its writer claimed the job with."""
sa.Index("jobs_by_status_and_age", jobs.c.status, jobs.c.updated_at)
sa.Index("jobs_about_something", jobs.c.repo, jobs.c.kind, jobs.c.subject)
_partial_index(
    jobs,
    "CREATE UNIQUE INDEX one_open_run_per_task ON jobs (repo, kind, subject)"
    " WHERE status = 'open' AND kind IN ('run', 'schedule')",
)

verdicts = sa.Table(
    "verdicts",
    metadata,
    _counted("id"),
    sa.Column("repo", sa.String(8), nullable=False),
    sa.Column("tree", sa.String(64), nullable=False),
    sa.Column("check", _Words, nullable=False),
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
    sa.Column("why", _Words, nullable=False),
    sa.Column("log", sa.Text, nullable=False),
    sa.Column("host", sa.String(64), nullable=False),
    sa.Column("at", sa.Float, nullable=False),
)
"""How a check ended for a tree; every run has one, so that reds are counted."""
sa.Index("verdicts_of_a_tree", verdicts.c.repo, verdicts.c.tree, verdicts.c.check_key)
sa.Index("verdicts_by_age", verdicts.c.at)

changes = sa.Table(
    "changes",
    metadata,
    sa.Column("repo", sa.String(8), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("id", sa.String(16), nullable=False),
    sa.Column("target", _Words, nullable=False),
    sa.Column("branch", _Words, nullable=False),
    sa.Column("head", sa.String(64), nullable=False),
    sa.Column("title", _Words, nullable=False),
    sa.Column("task", sa.String(24), nullable=False),
    sa.Column("needs", sa.JSON, nullable=False),
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("why", _Words, nullable=False),
    sa.Column("author", sa.String(16)),
    sa.Column("guards", sa.JSON, nullable=False),
    sa.Column("edits", sa.JSON, nullable=False),
    sa.Column("approval", sa.JSON),
    sa.Column("seen", sa.String(64), nullable=False),
    sa.Column("blocked", _Words, nullable=False),
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
"""Branches proposed for landing; see `core/landing/changes.py`. Every revision has the same row."""
sa.Index("changes_by_state", changes.c.repo, changes.c.state)
