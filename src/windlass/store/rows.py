"""Rows in and out: the queries that services share, as functions of a connection."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import Any, Literal

import msgspec
import sqlalchemy as sa

from windlass.core import log_kinds, shapes
from windlass.core.crew import Agent
from windlass.core.ids import RepoId, Uid
from windlass.core.reasons import Reason, in_short, words
from windlass.core.runs.part import Part
from windlass.core.states import Observation, Source, State
from windlass.store import records
from windlass.store import tables as t
from windlass.store.store import Event, Writing


class Repo(msgspec.Struct, frozen=True, kw_only=True):
    """A repository that Windlass knows."""

    id: RepoId
    root: str
    git_dir: str
    added_at: float


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """One session of an agent; the newest has the highest number.

    `started_at` is set once its program runs: before that its absence proves nothing. `marks` say
    how far the files that its program writes were read, by the name of the reader.
    """

    agent: Uid
    number: int
    marker: str
    started_at: float | None = None
    ended_at: float | None = None
    exit_code: int | None = None
    events_offset: int = 0
    marks: dict[str, Any] = {}
    part: Part | None = None
    """What of a run it is for."""
    mode: str = ""
    """Whether it is live or headless."""
    credential: str = ""
    """What pays for it, as people call it; nothing until it starts."""

    @property
    def runs(self) -> bool:
        """Whether its program was started and is not known to have ended."""
        return self.started_at is not None and self.ended_at is None


class Intent(msgspec.Struct, frozen=True, kw_only=True):
    """Something we set out to do, how far we are, and how it ended.

    `done` names the steps that are done so far, `version` is that of the operation they belong to.
    One that is set aside or halted is finished by nobody: `tries` says how many daemons died of it.
    """

    id: str
    kind: str
    repo: RepoId
    caller: Uid | None
    data: dict[str, Any]
    step: int
    status: Literal["open", "done", "failed", "set aside", "halted"]
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    undone_by: str | None = None
    created_at: float
    updated_at: float
    done: tuple[str, ...] = ()
    version: int = 1
    tries: int = 0


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """An observation as it is kept: with its sentence, and since schema 6 with its reason."""

    source: Source
    value: State
    at: float
    evidence: str
    reason: Reason | None
    session: int


_KEPT_BY_KIND = sa.text("events.kind NOT LIKE 'hook.%'")
"""What the index of kinds says of itself, in its own words: else it is not used."""
_REMOVED = "#forgotten-"
"""Behind the git folder of a repository that was removed: the folder is free to be added again."""


def repos(connection: sa.Connection) -> list[Repo]:
    """Lists the known repositories, oldest first."""
    known = t.repos.c.git_dir.not_like(f"%{_REMOVED}%")
    return records.every(
        Repo, connection, sa.select(t.repos).where(known).order_by(t.repos.c.added_at)
    )


def removed_repos(connection: sa.Connection) -> list[Repo]:
    """Lists the repositories that were removed: ended agents keep their history under the ids."""
    removed = t.repos.c.git_dir.like(f"%{_REMOVED}%")
    return records.every(Repo, connection, sa.select(t.repos).where(removed))


def remove_repo(writing: Writing, repo: Repo) -> None:
    """Has a repository count as removed; its id stays taken."""
    git_dir = f"{repo.git_dir}{_REMOVED}{uuid.uuid4().hex[:8]}"
    condition = t.repos.c.id == repo.id
    writing.connection.execute(sa.update(t.repos).where(condition).values(git_dir=git_dir))


def add_repo(writing: Writing, repo: Repo) -> None:
    """Writes a repository."""
    records.add(writing, t.repos, repo)


def keep_repo(writing: Writing, repo: Repo) -> None:
    """Has a repository be known, where it is; also one that is known elsewhere, or was removed."""
    place = {"root": repo.root, "git_dir": repo.git_dir}
    known = sa.update(t.repos).where(t.repos.c.id == repo.id).values(place)
    if not writing.connection.execute(known).rowcount:
        add_repo(writing, repo)


def agents(
    connection: sa.Connection, *, repo: RepoId | None = None, ended: bool = False
) -> list[Agent]:
    """Lists the live agents, or the ended ones, of one repository or of all."""
    wanted = t.agents.c.ended_at.is_not(None) if ended else t.agents.c.ended_at.is_(None)
    order = records.as_added(connection, t.agents, t.agents.c.created_at)
    query = sa.select(t.agents).where(wanted).order_by(order, t.agents.c.id)
    if repo is not None:
        query = query.where(t.agents.c.repo == repo)
    return records.every(Agent, connection, query)


def last_ended(connection: sa.Connection, called: str, *, repo: RepoId | None) -> Agent | None:
    """The ended agent of that id that was added last, in one repository or in all."""
    c = t.agents.c
    query = sa.select(t.agents).where(c.id == called, c.ended_at.is_not(None))
    if repo is not None:
        query = query.where(c.repo == repo)
    newest = records.as_added(connection, t.agents, c.created_at).desc()
    found = records.every(Agent, connection, query.order_by(newest, c.id.desc()).limit(1))
    return found[0] if found else None


def agent(connection: sa.Connection, uid: Uid) -> Agent | None:
    """Finds an agent, live or ended."""
    return records.with_key(Agent, connection, t.agents, {"uid": uid})


def below(connection: sa.Connection, uid: Uid) -> set[Uid]:
    """Everybody below an agent, live or ended, and itself."""
    c = t.agents.c
    family = sa.select(c.uid).where(c.uid == uid).cte(recursive=True)
    children = sa.select(c.uid).join(family, c.parent == family.c.uid)
    return set(connection.execute(sa.select(family.union(children).c.uid)).scalars())


def add_agent(writing: Writing, agent: Agent) -> None:
    """Writes a new agent."""
    records.add(writing, t.agents, agent)


def change_agent(writing: Writing, uid: Uid, **columns: Any) -> Agent:
    """Changes these columns of an agent and no others; returns the agent as it is now."""
    return records.change(writing, t.agents, Agent, {"uid": uid}, columns)


def sessions(connection: sa.Connection, uid: Uid) -> list[Session]:
    """Lists an agent's sessions, newest first."""
    query = (
        sa.select(t.sessions).where(t.sessions.c.agent == uid).order_by(t.sessions.c.number.desc())
    )
    return records.every(Session, connection, query)


def parts(connection: sa.Connection, agents: Iterable[Uid]) -> dict[tuple[Uid, int], Part]:
    """What of runs the sessions of these agents are for, by agent and number."""
    c = t.sessions.c
    query = sa.select(c.agent, c.number, c.part).where(c.agent.in_(list(agents)))
    found = connection.execute(query)
    return {(uid, number): shapes.convert(part, Part) for uid, number, part in found if part}


def newest_session(connection: sa.Connection, uid: Uid) -> Session | None:
    """The session that an agent had or has last; None before its first."""
    c = t.sessions.c
    query = sa.select(t.sessions).where(c.agent == uid).order_by(c.number.desc()).limit(1)
    newest = records.every(Session, connection, query)
    return newest[0] if newest else None


def live_session(connection: sa.Connection, uid: Uid) -> tuple[Agent, Session] | None:
    """An agent that has not ended, with its newest session; None if there is no such."""
    owner, newest = agent(connection, uid), newest_session(connection, uid)
    if owner is None or owner.ended_at is not None or newest is None:
        return None
    return owner, newest


def session(connection: sa.Connection, uid: Uid, number: int) -> Session:
    """One session of an agent, as it is now."""
    found = records.with_key(Session, connection, t.sessions, {"agent": uid, "number": number})
    if found is None:
        raise AssertionError(f"{uid} has no session {number}")
    return found


def session_owner(connection: sa.Connection, marker: str) -> Uid | None:
    """The agent, live or ended, that had or has the session with that marker."""
    owner = sa.select(t.sessions.c.agent).where(t.sessions.c.marker == marker)
    return connection.execute(owner).scalar_one_or_none()


def open_sessions(connection: sa.Connection) -> list[tuple[Agent, Session]]:
    """The newest session of each live agent, where it is thought to go on."""
    query = (
        sa.select(t.sessions)
        .join(
            t.agents,
            (t.agents.c.uid == t.sessions.c.agent) & (t.agents.c.session == t.sessions.c.number),
        )
        .where(t.agents.c.ended_at.is_(None), t.sessions.c.ended_at.is_(None))
    )
    by_agent = {session.agent: session for session in records.every(Session, connection, query)}
    return [
        (a, by_agent[a.uid]) for a in (agents(connection) if by_agent else []) if a.uid in by_agent
    ]


def add_session(writing: Writing, session: Session) -> None:
    """Writes a new session."""
    records.add(writing, t.sessions, session)


def change_session(writing: Writing, uid: Uid, number: int, **columns: Any) -> Session:
    """Changes these columns of a session and no others; returns the session as it is now."""
    return records.change(writing, t.sessions, Session, {"agent": uid, "number": number}, columns)


def set_mark(writing: Writing, uid: Uid, number: int, name: str, value: Any) -> Session:
    """Moves one reader's mark in a session; those of other readers stay where they are now."""
    c = t.sessions.c
    query = sa.select(c.marks).where(c.agent == uid, c.number == number)
    # On SQLite nobody else writes meanwhile; elsewhere the row is locked until we commit.
    marks = writing.connection.execute(query.with_for_update()).scalar() or {}
    return change_session(writing, uid, number, marks={**marks, name: value})


def observations(connection: sa.Connection, uid: Uid) -> list[Observation]:
    """The latest word of each source about an agent."""
    return [_observation(row) for row in connection.execute(_SEEN, {"of_agent": uid})]


_SEEN = sa.select(t.observations).where(t.observations.c.agent == sa.bindparam("of_agent"))
"""Made once, as are the two below: states are folded with every hook."""


def all_observations(connection: sa.Connection) -> dict[Uid, list[Observation]]:
    """The latest word of each source about every live agent."""
    live = sa.select(t.agents.c.uid).where(t.agents.c.ended_at.is_(None))
    query = sa.select(t.observations).where(t.observations.c.agent.in_(live))
    by_agent: dict[Uid, list[Observation]] = {}
    for row in connection.execute(query):
        by_agent.setdefault(Uid(row.agent), []).append(_observation(row))
    return by_agent


def names(connection: sa.Connection, of: Iterable[Uid]) -> dict[Uid, str]:
    """What these agents, live or ended, are called."""
    columns = sa.select(t.agents.c.uid, t.agents.c.id)
    query = columns.where(t.agents.c.uid.in_(sorted(set(of))))
    return {Uid(uid): name for uid, name in connection.execute(query)}


def _observation(row: sa.Row[Any]) -> Observation:
    """Of what was seen before reasons were kept only the sentence is known."""
    kept = records.shaped(_Kept, row)
    return Observation(
        source=kept.source,
        value=kept.value,
        at=kept.at,
        reason=kept.reason or words(kept.evidence),
        session=kept.session,
    )


_FORGET = sa.delete(t.observations).where(
    t.observations.c.agent == sa.bindparam("of_agent"),
    t.observations.c.source == sa.bindparam("of_source"),
)
_OBSERVE = sa.insert(t.observations)


def put_observation(writing: Writing, uid: Uid, seen: Observation) -> None:
    """Keeps the latest word of its source, in short."""
    seen = msgspec.structs.replace(seen, reason=in_short(seen.reason))
    values = {"agent": uid, **msgspec.to_builtins(seen), "evidence": seen.evidence}
    writing.connection.execute(_FORGET, {"of_agent": uid, "of_source": values["source"]})
    writing.connection.execute(_OBSERVE, values)


def shift_what_lasts(writing: Writing, step: float, *, fresh: float) -> None:
    """Dates anew, by a step of the clock, since when live agents are as they are.

    Not what was written within the last `fresh` seconds, which is by the clock as it is now, nor
    who is at a limit: when that is over was told as a time of day.
    """
    live = sa.select(t.agents.c.uid).where(
        t.agents.c.ended_at.is_(None), t.agents.c.state != State.RATE_LIMITED
    )

    def is_older(at: sa.Column[Any]) -> sa.ColumnElement[bool]:
        return ~at.between(writing.now - fresh, writing.now + 1)

    for table, at, which in (
        (t.observations, t.observations.c.at, t.observations.c.agent.in_(live)),
        (t.sessions, t.sessions.c.started_at, t.sessions.c.ended_at.is_(None)),
        (t.agents, t.agents.c.state_at, t.agents.c.uid.in_(live)),
    ):
        moved = sa.update(table).where(which, is_older(at)).values({at.name: at + step})
        writing.connection.execute(moved)


def intent(connection: sa.Connection, key: str) -> Intent | None:
    """Finds an intent by its key."""
    return records.with_key(Intent, connection, t.intents, {"id": key})


def open_intents(connection: sa.Connection) -> list[Intent]:
    """What was begun and not finished, oldest first."""
    order = records.as_added(connection, t.intents, t.intents.c.created_at)
    query = sa.select(t.intents).where(t.intents.c.status == "open").order_by(order)
    return records.every(Intent, connection, query)


def set_aside(connection: sa.Connection) -> list[Intent]:
    """What was begun and is finished by nobody unless the person wants it: set aside, or halted."""
    c = t.intents.c
    left = c.status.in_(("set aside", "halted"))
    order = records.as_added(connection, t.intents, c.created_at)
    query = sa.select(t.intents).where(left).order_by(order)
    return records.every(Intent, connection, query)


def undoable(
    connection: sa.Connection, *, repo: RepoId, kinds: Iterable[str], caller: Uid | None
) -> list[Intent]:
    """The finished intents of these kinds that nobody undid, by this caller, newest first."""
    c = t.intents.c
    query = (
        sa.select(t.intents)
        .where(c.repo == repo, c.kind.in_(list(kinds)), c.status == "done", c.undone_by.is_(None))
        .where(c.caller.is_(None) if caller is None else c.caller == caller)
        .order_by(records.as_added(connection, t.intents, c.updated_at).desc())
        .limit(200)
    )
    return records.every(Intent, connection, query)


def add_intent(writing: Writing, intent: Intent) -> None:
    """Writes a new intent."""
    records.add(writing, t.intents, intent)


def change_intent(writing: Writing, key: str, **columns: Any) -> Intent:
    """Changes these columns of an intent and no others; returns the intent as it is now."""
    return records.change(writing, t.intents, Intent, {"id": key}, columns)


def count_events(
    connection: sa.Connection, *, agent: Uid, kind: str, since: float, now: float
) -> int:
    """How many events of one kind an agent has had since a moment, among its last few thousand.

    What is of later than now was before the clock was set back.
    """
    c = t.events.c
    last = sa.select(c.kind, c.at).where(c.agent == agent).order_by(c.id.desc()).limit(5000)
    newest = last.subquery()
    query = sa.select(sa.func.count()).select_from(newest)
    query = query.where(newest.c.kind == kind, newest.c.at > since, newest.c.at <= now)
    return int(connection.execute(query).scalar() or 0)


def newest_event(connection: sa.Connection) -> int:
    """The number of the last event in the log; 0 where there is none."""
    return int(connection.execute(sa.select(sa.func.max(t.events.c.id))).scalar() or 0)


def forget_tries(writing: Writing, keys: Iterable[str]) -> None:
    """Has the last try of each of these intents not count, if it goes on."""
    c = t.intents.c
    condition = c.id.in_(list(keys)) & (c.status == "open") & (c.tries > 0)
    writing.connection.execute(sa.update(t.intents).where(condition).values(tries=c.tries - 1))


def events(
    connection: sa.Connection,
    *,
    after: int = 0,
    repo: RepoId | None = None,
    agent: Uid | None = None,
    subject: str | None = None,
    kind: str | None = None,
    news: bool = False,
    last: int | None = None,
    limit: int = 1000,
) -> list[Event]:
    """Reads the log in order: those after an id, or the last few; of all, or of what is `news`."""
    c = t.events.c
    query = sa.select(t.events).where(c.id > after)
    if news:
        query = query.where(c.kind.not_in(sorted(log_kinds.WORKS)))
        query = query.where(c.kind.not_like(f"{log_kinds.HOOKS}%"))
    asked = ((c.repo, repo), (c.agent, agent), (c.subject, subject), (c.kind, kind))
    for column, wanted in asked:
        if wanted is not None:
            query = query.where(column == wanted)
    if kind is not None and not kind.startswith(log_kinds.HOOKS):
        query = query.where(_KEPT_BY_KIND)
    if last is None:
        return records.every(Event, connection, query.order_by(c.id).limit(limit))
    return records.every(Event, connection, query.order_by(c.id.desc()).limit(last))[::-1]
