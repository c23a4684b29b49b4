"""Rows written whole, new or not: for tests that say how things are, before anything happens."""

from __future__ import annotations

import msgspec
import sqlalchemy as sa

from windlass.core.crew import Agent
from windlass.store import rows, tables
from windlass.store.rows import Intent, Session
from windlass.store.store import Writing


def add_repo(writing: Writing, repo: str) -> None:
    """Writes a repository with an id, in a folder of the same name."""
    values = {"id": repo, "root": f"/{repo}", "git_dir": f"/{repo}/.git", "added_at": writing.now}
    writing.connection.execute(sa.insert(tables.repos).values(values))


def put_agent(writing: Writing, agent: Agent) -> None:
    """Writes an agent as it is given."""
    if rows.agent(writing.connection, agent.uid) is None:
        rows.add_agent(writing, agent)
    else:
        rows.change_agent(writing, **msgspec.structs.asdict(agent))


def put_session(writing: Writing, session: Session) -> None:
    """Writes a session as it is given."""
    known = rows.sessions(writing.connection, session.agent)
    if session.number in {other.number for other in known}:
        columns = msgspec.structs.asdict(session)
        rows.change_session(writing, columns.pop("agent"), **columns)
    else:
        rows.add_session(writing, session)


def put_intent(writing: Writing, intent: Intent) -> None:
    """Writes an intent as it is given."""
    if rows.intent(writing.connection, intent.id) is None:
        rows.add_intent(writing, intent)
    else:
        columns = msgspec.structs.asdict(intent)
        rows.change_intent(writing, columns.pop("id"), **columns)
