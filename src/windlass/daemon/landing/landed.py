"""What is recorded of changes that have landed, and what follows for those who made them."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import Any

import sqlalchemy as sa

from windlass.core.errors import GitError
from windlass.core.ids import RepoId
from windlass.core.landing.changes import Change, ChangeId
from windlass.daemon.gate import green
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.landing import moves
from windlass.git import repository
from windlass.git.merges import MergePlan
from windlass.git.repository import Repository
from windlass.store import changes as rows
from windlass.store import rows as agent_rows
from windlass.store import spending
from windlass.store.store import Writing

log = logging.getLogger(__name__)
PASSED = "passed"


def record(writing: Writing, work: RunningIntent, name: str, plan: MergePlan) -> None:
    """Marks a change as landed, and has those wait no longer that waited for it."""
    repo = RepoId(work.intent.repo)
    found = rows.find(writing.connection, repo, ChangeId(name))
    if found is None or found.head != work.data["heads"][name]:
        return
    if (found.state, found.commit) == ("landed", plan.new):
        return  # recorded by a daemon that died before it could say that the step is done
    moves.land(
        writing,
        found,
        why="",
        was=plan.old,
        commit=plan.new,
        tree=plan.tree,
        verdict=work.data["verdict"],
        ticket=None,
        usd=_spent(writing, found),
        landed_at=writing.now,
    )


def follow_green(git: Repository, work: RunningIntent, plan: MergePlan) -> None:
    """Says where the target is proven; what has landed has landed, whatever becomes of that."""
    if work.data["verdict"] != PASSED:
        return
    try:
        known = repository.read_ref(git, green.REF)
        if known is None or not repository.is_ancestor(git, plan.new, known):
            green.follow(git, plan.new)
    except GitError as error:  # the next landing says so
        log.warning("%s does not follow %s: %s", green.REF, plan.new, error.message)


def authors(
    connection: sa.Connection, work: RunningIntent, group: Sequence[str]
) -> list[dict[str, Any]]:
    """What is to be done with those whose branches have landed."""
    repo, plan = RepoId(work.intent.repo), work.data["plan"]
    if plan is None:
        return []
    found = [rows.find(connection, repo, ChangeId(name)) for name in group]
    landed = [c for c in found if c is not None and (c.state, c.commit) == ("landed", plan["new"])]
    return [
        {
            "change": change.id,
            "head": change.head,
            "branch": change.branch,
            "deletes": change.deletes,
            "agents": _ended(connection, change),
        }
        for change in landed
        if change.ends or change.deletes
    ]


def _spent(writing: Writing, change: Change) -> float | None:
    if change.author is None:
        return None
    total = partial(spending.total, writing.connection, agent=change.author)
    return total(notional=False) + total(notional=True)


def _ended(connection: sa.Connection, change: Change) -> dict[str, str]:
    if change.author is None or not change.ends:
        return {}
    author = agent_rows.agent(connection, change.author)
    return {} if author is None or author.ended_at is not None else {author.uid: author.id}
