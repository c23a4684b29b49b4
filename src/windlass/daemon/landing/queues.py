"""Who is in a queue, and what is said of those that wait; how they move is `moves`'."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa

from windlass.core.errors import Conflict
from windlass.core.ids import RepoId
from windlass.core.landing import changes as core
from windlass.core.landing import job as landing_job
from windlass.core.landing.changes import Change, ChangeId
from windlass.core.landing.queue import Waiting
from windlass.daemon.landing import moves
from windlass.store import changes as rows
from windlass.store import rows as intent_rows
from windlass.store.store import Writing


def say(writing: Writing, repo: RepoId, heads: Mapping[str, str], why: str) -> None:
    """Says of revisions that wait why they are no further; nothing: they are on their way."""
    for name, head in heads.items():
        found = rows.find(writing.connection, repo, ChangeId(name))
        if (
            found is not None
            and found.state in core.OPEN
            and found.head == head
            and found.why != why
        ):
            rows.note(writing, found, why=why)


def refuse_landing(writing: Writing, change: Change) -> None:
    """Refuses to take a change back that the branch is just moving to: that would not hold."""
    for intent in intent_rows.open_intents(writing.connection):
        if intent.kind != landing_job.LAND or intent.repo != change.repo:
            continue
        if intent.data.get("plan") and change.id in intent.data["tried"]["group"]:
            raise Conflict(f"{change.id} is landing just now", f"once it has: wl undo {change.id}")


def waiting(connection: sa.Connection, repo: RepoId, target: str) -> list[Waiting]:
    """What waits to land on a branch, by the rows."""
    return [
        Waiting(
            change.id,
            change.head,
            tuple(need.id for need in moves.lacks(connection, change)),
            alone=change.alone,
        )
        for change in rows.open_ones(connection, repo)
        if change.target == target
    ]
