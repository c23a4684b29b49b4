"""Rows of changes: numbered in each repository, found by id and by branch, moved between states."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec
import sqlalchemy as sa

from windlass.core.ids import RepoId, Uid
from windlass.core.landing import changes as core
from windlass.core.landing.changes import OPEN, Change, ChangeId
from windlass.store import records
from windlass.store import tables as t
from windlass.store.store import Writing

_C = t.changes.c


def add(writing: Writing, change: Change) -> Change:
    """Writes a new change under the next number of its repository; returns it with its id."""
    most = sa.select(sa.func.max(_C.number)).where(_C.repo == change.repo)
    number = (writing.connection.execute(most).scalar() or 0) + 1
    change = msgspec.structs.replace(change, id=ChangeId(f"c{number}"))
    values = records.stored({**msgspec.structs.asdict(change), "number": number})
    writing.connection.execute(sa.insert(t.changes).values(values))
    return change


def find(connection: sa.Connection, repo: RepoId, change: ChangeId) -> Change | None:
    """Finds a change by its id."""
    query = _known().where(_C.repo == repo, _C.number == core.number(change))
    found = records.every(Change, connection, query)
    return found[0] if found else None


def of_branch(
    connection: sa.Connection, repo: RepoId, *, branch: str, target: str
) -> Change | None:
    """The newest change of a branch that is to land on a target."""
    query = _known().where(_C.repo == repo, _C.branch == branch, _C.target == target)
    found = records.every(Change, connection, query.order_by(_C.number.desc()).limit(1))
    return found[0] if found else None


def revert_of(connection: sa.Connection, repo: RepoId, change: ChangeId) -> Change | None:
    """The newest change that takes another back."""
    query = _known().where(_C.repo == repo, _C.reverts == change)
    found = records.every(Change, connection, query.order_by(_C.number.desc()).limit(1))
    return found[0] if found else None


def last_landed(connection: sa.Connection, repo: RepoId) -> Change | None:
    """What landed last."""
    query = _known().where(_C.repo == repo, _C.state == "landed")
    newest = query.order_by(_C.landed_at.desc(), _C.number.desc()).limit(1)
    found = records.every(Change, connection, newest)
    return found[0] if found else None


def landed_of_branch(
    connection: sa.Connection, repo: RepoId, *, branch: str, target: str
) -> list[Change]:
    """What landed of a branch on a target, the oldest first."""
    query = _known().where(_C.repo == repo, _C.branch == branch, _C.target == target)
    landed = query.where(_C.state == "landed").order_by(_C.number)
    return records.every(Change, connection, landed)


def of_author(connection: sa.Connection, author: Uid) -> Change | None:
    """The newest change of an agent's."""
    query = _known().where(_C.author == author).order_by(_C.number.desc()).limit(1)
    found = records.every(Change, connection, query)
    return found[0] if found else None


def of_agent(connection: sa.Connection, author: Uid) -> list[Change]:
    """All changes of an agent's, in their order."""
    query = _known().where(_C.author == author).order_by(_C.number)
    return records.every(Change, connection, query)


def listed(
    connection: sa.Connection, repo: RepoId, *, states: Collection[str] = ()
) -> list[Change]:
    """Lists changes of a repository in their order, those in some states or all."""
    query = _known().where(_C.repo == repo).order_by(_C.number)
    if states:
        query = query.where(_C.state.in_(sorted(states)))
    return records.every(Change, connection, query)


def open_ones(connection: sa.Connection, repo: RepoId) -> list[Change]:
    """The changes that the queue works on."""
    return listed(connection, repo, states=OPEN)


def landed_with(connection: sa.Connection, repo: RepoId, commits: Collection[str]) -> list[Change]:
    """The changes that landed with some commits, in their order."""
    query = _known().where(_C.repo == repo, _C.commit.in_(sorted(commits)))
    return records.every(Change, connection, query.order_by(_C.number))


def saw(writing: Writing, change: Change) -> None:
    """Notes which head a person has looked at, whatever has become of the change meanwhile."""
    same = (_C.repo == change.repo, _C.number == core.number(change.id))
    writing.connection.execute(sa.update(t.changes).where(*same).values(seen=change.head))


def note(writing: Writing, change: Change, **columns: Any) -> bool:
    """Changes a row as it is known; False where it has another revision or state by now."""
    if "state" in columns:
        raise AssertionError(columns)
    return _changed(writing, change, columns)


def move(writing: Writing, change: Change, *, state: core.State, **columns: Any) -> bool:
    """Moves a row as it is known to a state, as `note` changes it; for `landing.moves` alone."""
    return _changed(writing, change, {**columns, "state": state})


def _changed(writing: Writing, change: Change, columns: Mapping[str, Any]) -> bool:
    same = (
        _C.repo == change.repo,
        _C.number == core.number(change.id),
        _C.revision == change.revision,
        _C.state == change.state,
    )
    values = records.stored({**columns, "updated_at": writing.now})
    done = writing.connection.execute(sa.update(t.changes).where(*same).values(values))
    return bool(done.rowcount)


def _known() -> sa.Select[Any]:
    return sa.select(*(column for column in _C if column.name != "number"))
