"""Rows of jobs: claimed, read with what happened since, changed under a generation."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import sqlalchemy as sa

from windlass.core import jobs as core
from windlass.core.ids import RepoId
from windlass.core.jobs import DueEffect, Job, JobId, News
from windlass.store import records, rows
from windlass.store import tables as t
from windlass.store.store import Writing

_J, _E = t.jobs.c, t.events.c
_TEXTS = (_J.state, _J.result, _J.error)
_NEWS = (_E.id, _E.kind, _E.data, _E.at, _E.agent)
_AT_ONCE = 200
"""Pieces of news that a job takes in at a time."""


def add(writing: Writing, job: Job) -> None:
    """Writes a new job."""
    records.add(writing, t.jobs, job)


def find(connection: sa.Connection, job: JobId) -> Job | None:
    """Finds a job by its id."""
    found = records.every(Job, connection, sa.select(t.jobs).where(_J.id == job))
    return found[0] if found else None


def listed(
    connection: sa.Connection, *, repo: RepoId | None = None, status: str | None = None
) -> list[Job]:
    """Lists jobs, oldest first: of a repository or of all, in one status or in any."""
    query = sa.select(t.jobs).order_by(records.as_added(connection, t.jobs, _J.created_at))
    if repo is not None:
        query = query.where(_J.repo == repo)
    if status is not None:
        query = query.where(_J.status == status)
    return records.every(Job, connection, query)


def about(connection: sa.Connection, *, repo: RepoId, kind: str, subject: str) -> Job | None:
    """The open job of a kind that is for this; None where there is none."""
    this = (_J.repo == repo, _J.kind == kind, _J.subject == subject, _J.status == "open")
    found = records.every(Job, connection, sa.select(t.jobs).where(*this).limit(1))
    return found[0] if found else None


def last_about(connection: sa.Connection, *, repo: RepoId, kind: str, subject: str) -> Job | None:
    """The newest job of a kind that is or was for this."""
    this = (_J.repo == repo, _J.kind == kind, _J.subject == subject)
    newest = sa.select(t.jobs).where(*this).order_by(_J.created_at.desc()).limit(1)
    found = records.every(Job, connection, newest)
    return found[0] if found else None


def claim(writing: Writing, *, host: str) -> list[Job]:
    """Claims every open job for a driver that begins; the one before can write no more.

    Each counts a death of its driver, which its next advance takes back. One that was changed later
    than it is now was so before the clock was set back: its moment comes as much earlier.
    """
    back = _J.updated_at - writing.now
    dated_anew = {"wake_at": _J.wake_at - back, "updated_at": writing.now}
    is_ahead = (_J.status == "open", back > 0)
    writing.connection.execute(sa.update(t.jobs).where(*is_ahead).values(dated_anew))
    claimed = {"host": host, "generation": _J.generation + 1, "tries": _J.tries + 1}
    writing.connection.execute(sa.update(t.jobs).where(_J.status == "open").values(claimed))
    return listed(writing.connection, status="open")


def news(
    connection: sa.Connection,
    job: Job,
    *,
    hears: Collection[str],
    about: Collection[str] | None = None,
) -> tuple[list[News], int | None]:
    """What happened since a job's cursor that it hears of, in order, and how far that was looked.

    Of others it hears these kinds, `about` these subjects or, without them, about any.

    None where more is left to be looked at than is taken in at a time.
    """
    newest = rows.newest_event(connection)
    own = sa.select(*_NEWS).where(_E.subject == core.subject(job.id), _E.id > job.cursor)
    others = sa.select(*_NEWS).where(
        _E.repo == job.repo, _E.id > job.cursor, _E.kind.in_(sorted(hears))
    )
    if about is not None:
        others = others.where(_E.subject.in_(sorted(about)))
    found: dict[int, News] = {}
    for query in (own, others) if hears and about != frozenset() else (own,):
        for row in connection.execute(query.order_by(_E.id).limit(_AT_ONCE)):
            found[row.id] = News(
                id=row.id, kind=row.kind, data=row.data, at=row.at, agent=row.agent
            )
    heard = [found[number] for number in sorted(found)][:_AT_ONCE]
    return heard, None if len(heard) == _AT_ONCE else newest


def change(writing: Writing, job: Job, **columns: Any) -> bool:
    """Changes a job as it is known; False where another claimed or changed it meanwhile."""
    unchanged = (
        _J.id == job.id,
        _J.generation == job.generation,
        _J.cursor == job.cursor,
        _J.sequence == job.sequence,
        _J.status == job.status,
    )
    values = records.stored({**columns, "updated_at": writing.now})
    done = writing.connection.execute(sa.update(t.jobs).where(*unchanged).values(values))
    return bool(done.rowcount)


def open_effects(connection: sa.Connection, job: JobId) -> list[DueEffect]:
    """The effects of a job that are recorded and not done, in their order.

    What an effect has done for it, under a key that begins with its own, goes on with it.
    """
    c = t.intents.c
    of_job = (c.status == "open", c.id.startswith(f"{job}:", autoescape=True))
    query = sa.select(c.id, c.kind).where(*of_job)
    found = connection.execute(query)
    due = [DueEffect(row.id, row.kind) for row in found if core.owner(row.id) == job]
    return sorted(due, key=lambda effect: core.number_of(effect.key))


def with_effects_left(connection: sa.Connection) -> list[Job]:
    """The jobs that are over and have effects that are recorded and not done."""
    keys = connection.execute(sa.select(t.intents.c.id).where(t.intents.c.status == "open"))
    owners = {owner for key in keys.scalars() if (owner := core.owner(key)) is not None}
    return [job for job in listed(connection, status="done") if job.id in owners] if owners else []


def earliest_cursor(connection: sa.Connection) -> int | None:
    """The event up to which every open job has heard everything; None where there is no job."""
    query = sa.select(sa.func.min(_J.cursor)).where(_J.status == "open")
    return connection.execute(query).scalar()


def old(connection: sa.Connection, *, before: float) -> list[JobId]:
    """Lists the jobs that were over before a moment."""
    query = sa.select(_J.id).where(_J.status != "open", _J.updated_at < before)
    return [JobId(row.id) for row in connection.execute(query)]


def size(connection: sa.Connection, ids: Collection[JobId]) -> int:
    """About how many bytes jobs take."""
    texts = [sa.func.coalesce(sa.func.length(sa.type_coerce(c, sa.Text)), 0) for c in _TEXTS]
    query = sa.select(sa.func.coalesce(sa.func.sum(sum(texts)), 0)).where(_J.id.in_(list(ids)))
    return int(connection.execute(query).scalar_one())


def remove(writing: Writing, ids: Collection[JobId]) -> None:
    """Removes jobs that are over."""
    over = _J.id.in_(list(ids)) & (_J.status != "open")
    writing.connection.execute(sa.delete(t.jobs).where(over))
