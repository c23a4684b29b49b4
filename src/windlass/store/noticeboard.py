"""The notices of each repository: kept until whoever listens says that it has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from windlass.core import events, shapes
from windlass.core.crew import Agent
from windlass.core.events import AgentState, NoticePosted, notice_subject
from windlass.core.ids import RepoId, Uid
from windlass.core.states import State
from windlass.store import records
from windlass.store import tables as t
from windlass.store.store import Writing

SUPERSEDED, ENDED, SETTLED = "superseded", "ended", "settled"
"""What has taken a notice that nobody read: a newer one of its agent's state, that one's end, or
whoever dealt with the message that it tells of."""
STATES_BACK = 40
"""So far back is looked for the last turn of an agent; who does that much without one is told of
once more."""


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """One of them. `message` is the message that it tells of, if it tells of one."""

    number: int
    repo: RepoId
    at: float
    sender: str
    type: str
    text: str
    message: str | None = None
    taken_at: float | None = None
    taken_by: str | None = None


class Unread(NamedTuple):
    """A notice of an agent that nobody has yet, and what its event says of it."""

    notice: Notice
    posting: NoticePosted


def put(
    writing: Writing, repo: RepoId, *, sender: str, kind: str, text: str, message: str | None
) -> Notice:
    """Adds a notice to the queue of a repository."""
    values = {
        "repo": repo,
        "at": writing.now,
        "sender": sender,
        "type": kind,
        "text": text,
        "message": message,
    }
    done = writing.connection.execute(sa.insert(t.notices).values(values))
    key = done.inserted_primary_key
    if key is None:  # every dialect that we support returns the key
        raise AssertionError(sender)
    return shapes.convert({"number": key[0], **values}, Notice)


def waiting(connection: sa.Connection, repo: RepoId, *, limit: int) -> list[Notice]:
    """Those that nobody has yet, oldest first."""
    query = _waiting(repo).order_by(t.notices.c.number).limit(limit)
    return records.every(Notice, connection, query)


def unread_of(connection: sa.Connection, agent: Agent) -> list[Unread]:
    """Those of an agent that nobody has yet; what somebody else said in its name is not its own."""
    query = _waiting(agent.repo).where(t.notices.c.sender == agent.id)
    notices = records.every(Notice, connection, query)
    if not notices:
        return []
    c = t.events.c
    about = [notice_subject(notice.number) for notice in notices]
    query = sa.select(c.kind, c.data).where(
        c.subject.in_(about), c.agent == agent.uid, c.kind == NoticePosted.kind
    )
    posted = (events.read(NoticePosted, row) for row in connection.execute(query))
    postings = {posting.number: posting for posting in posted}
    return [
        Unread(notice, postings[notice.number]) for notice in notices if notice.number in postings
    ]


def count_waiting(connection: sa.Connection, repo: RepoId, *, sender: str | None = None) -> int:
    """How many notices of a repository, or of one sender in it, nobody has taken yet."""
    c = t.notices.c
    query = sa.select(sa.func.count()).where(c.repo == repo, c.taken_at.is_(None))
    if sender is not None:
        query = query.where(c.sender == sender)
    return int(connection.execute(query).scalar_one())


def messages(connection: sa.Connection, numbers: Iterable[int]) -> list[str]:
    """The ids of the messages that notices tell of, as far as nobody has them yet."""
    c = t.notices.c
    query = sa.select(c.message).where(
        c.number.in_(list(numbers)), c.taken_at.is_(None), c.message.is_not(None)
    )
    return [row[0] for row in connection.execute(query)]


def take(writing: Writing, numbers: Iterable[int], *, by: str) -> int:
    """Takes them from the queue, and says how many were still in it."""
    changed = writing.connection.execute(
        sa.update(t.notices)
        .where(t.notices.c.number.in_(list(numbers)), t.notices.c.taken_at.is_(None))
        .values(taken_at=writing.now, taken_by=by)
    )
    return int(changed.rowcount)


def withdraw(writing: Writing, message: str) -> None:
    """Takes from the queue what tells of a message that somebody has dealt with."""
    writing.connection.execute(
        sa.update(t.notices)
        .where(t.notices.c.message == message, t.notices.c.taken_at.is_(None))
        .values(taken_at=writing.now, taken_by=SETTLED)
    )


def _waiting(repo: RepoId) -> sa.Select[Any]:
    return sa.select(t.notices).where(t.notices.c.repo == repo, t.notices.c.taken_at.is_(None))


def states_noticed_since_work(connection: sa.Connection, uid: Uid) -> set[str]:
    """The states of an agent that notices told of since it was at work last.

    What asks something tells that its agent waits.
    """
    c = t.events.c
    query = (
        sa.select(c.kind, c.data)
        .where(c.agent == uid, c.kind.in_((AgentState.kind, NoticePosted.kind)))
        .order_by(c.id.desc())
        .limit(STATES_BACK)
    )
    states: set[str] = set()
    for row in connection.execute(query):
        if row.kind == AgentState.kind:
            if events.read(AgentState, row).now is State.RUNNING:
                break
            continue
        notice = events.read(NoticePosted, row)
        if notice.state or notice.type == "question":
            states.add(notice.state or State.WAITING)
    return states
