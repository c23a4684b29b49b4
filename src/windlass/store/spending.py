"""Queries on what was spent, and on the marks that say how far spending was read.

The same spending may be in the table twice, once per source. Of a session only the source that
says more counts; so sums are made here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any, Literal

import msgspec
import sqlalchemy as sa

from windlass.core import shapes
from windlass.core.crew import Limits
from windlass.core.ids import RepoId, Uid
from windlass.core.usage import Usage
from windlass.store import rows
from windlass.store import tables as t
from windlass.store.store import Writing

Source = Literal["transcript", "result", "relay"]
_SUMMED = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "cost",
)


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """What one session of an agent spent on one model in one day."""

    agent: Uid
    session: int
    day: str
    model: str
    notional: bool
    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int
    cache_read_input_tokens: int
    cost: float


def add(
    writing: Writing,
    uid: Uid,
    session: int,
    *,
    day: str,
    model: str,
    source: Source,
    used: Usage,
    cost: float,
    notional: bool,
) -> None:
    """Adds usage to its row; a row of which any part is owed is not notional."""
    c = t.usage.c
    key = {"agent": uid, "session": session, "day": day, "model": model, "source": source}
    more = {name: cost if name == "cost" else getattr(used, name) for name in _SUMMED}
    grown: dict[str, Any] = {name: c[name] + value for name, value in more.items()}
    if not notional:
        grown["notional"] = False
    this_row = sa.and_(*(c[name] == value for name, value in key.items()))
    changed = writing.connection.execute(sa.update(t.usage).where(this_row).values(grown))
    if changed.rowcount == 0:
        values = {**key, **more, "notional": notional}
        writing.connection.execute(sa.insert(t.usage).values(values))


def reported(connection: sa.Connection, uid: Uid, session: int) -> dict[str, tuple[Usage, float]]:
    """What the results of a session came to so far, by model."""
    c = t.usage.c
    query = (
        sa.select(c.model, *(sa.func.sum(c[name]).label(name) for name in _SUMMED))
        .where(c.agent == uid, c.session == session, c.source == "result")
        .group_by(c.model)
    )
    by_model = {}
    for row in connection.execute(query).mappings():
        tokens = {name: row[name] for name in _SUMMED if name != "cost"}
        by_model[row["model"]] = (shapes.convert(tokens, Usage, strict=False), float(row["cost"]))
    return by_model


def models(connection: sa.Connection, uid: Uid) -> set[str]:
    """The models that an agent has used so far, by its own word."""
    query = sa.select(t.usage.c.model).where(t.usage.c.agent == uid).distinct()
    return set(connection.execute(query).scalars())


def spent(
    connection: sa.Connection, *, repo: RepoId | None = None, since: str | None = None
) -> list[Spent]:
    """What every agent, live or ended, spent: by session, day and model."""
    counted = _counted()
    named = [counted.c[name] for name in ("agent", "session", "day", "model", "notional")]
    query = sa.select(
        *named, *(sa.func.sum(counted.c[name]).label(name) for name in _SUMMED)
    ).group_by(*named)
    if repo is not None:
        query = query.join(t.agents, t.agents.c.uid == counted.c.agent)
        query = query.where(t.agents.c.repo == repo)
    if since is not None:
        query = query.where(counted.c.day >= since)
    counted_rows = connection.execute(query.order_by(*named)).mappings()
    return [
        shapes.convert({str(k): v for k, v in row.items()}, Spent, strict=False)
        for row in counted_rows
    ]


class SessionTotal(msgspec.Struct, frozen=True, kw_only=True):
    """What one session of an agent came to; a part of it may be a subscription's."""

    agent: Uid
    session: int
    usd: float
    notional_usd: float


def by_session(connection: sa.Connection, agents: Collection[Uid]) -> list[SessionTotal]:
    """What each session of these agents came to."""
    counted = _counted(frozenset({"of_agents"}))
    owed = sa.func.sum(sa.case((counted.c.notional, 0.0), else_=counted.c.cost))
    covered = sa.func.sum(sa.case((counted.c.notional, counted.c.cost), else_=0.0))
    query = sa.select(
        counted.c.agent, counted.c.session, owed.label("usd"), covered.label("notional_usd")
    ).group_by(counted.c.agent, counted.c.session)
    found = connection.execute(query, {"of_agents": list(agents)}).mappings()
    return [
        shapes.convert({str(k): v for k, v in row.items()}, SessionTotal, strict=False)
        for row in found
    ]


def total(
    connection: sa.Connection,
    *,
    notional: bool,
    agent: Uid | None = None,
    repo: RepoId | None = None,
    day: str | None = None,
) -> float:
    """The USD of all spending of one kind, of an agent, a repository or a day."""
    asked = {"of_agent": agent, "of_repo": repo, "of_day": day}
    bound = {name: value for name, value in asked.items() if value is not None}
    query = _total(frozenset(bound))
    return float(connection.execute(query, {**bound, "of_kind": notional}).scalar() or 0.0)


class AgentTotal(msgspec.Struct, frozen=True, kw_only=True):
    """What one agent has spent of a total, and what limits it."""

    agent: Uid
    repo: RepoId
    limits: Limits
    cost: float


def totals(
    connection: sa.Connection, *, notional: bool, repo: RepoId | None = None, day: str | None = None
) -> list[AgentTotal]:
    """The USD of all spending of one kind, in a repository or on a day, agent by agent."""
    asked = {"of_repo": repo, "of_day": day}
    bound = {name: value for name, value in asked.items() if value is not None}
    found = connection.execute(_totals(frozenset(bound)), {**bound, "of_kind": notional})
    return [
        shapes.convert({str(k): v for k, v in row.items()}, AgentTotal, strict=False)
        for row in found.mappings()
    ]


@cache
def _totals(bound: frozenset[str]) -> sa.Select[Any]:
    counted = _counted(bound)
    agents = t.agents.c
    query = (
        sa.select(
            agents.uid.label("agent"),
            agents.repo,
            agents.limits,
            sa.func.sum(counted.c.cost).label("cost"),
        )
        .join(t.agents, agents.uid == counted.c.agent)
        .where(counted.c.notional == sa.bindparam("of_kind"))
        .group_by(agents.uid)
    )
    if "of_day" in bound:
        query = query.where(counted.c.day == sa.bindparam("of_day"))
    return query


@cache
def _total(bound: frozenset[str]) -> sa.Select[tuple[Any]]:
    """Made once: budgets are judged at every look, and making it takes longer than asking."""
    counted = _counted(bound)
    query = sa.select(sa.func.sum(counted.c.cost))
    query = query.where(counted.c.notional == sa.bindparam("of_kind"))
    if "of_day" in bound:
        query = query.where(counted.c.day == sa.bindparam("of_day"))
    return query


def _counted(bound: frozenset[str] = frozenset()) -> sa.Subquery:
    """The rows that count: of each session those of the source that comes to more.

    Sources are compared by session, not by model: a model may be called one thing where it is asked
    for and another where it answers, and would then count twice.
    """
    c = t.usage.c
    rank = sa.func.row_number().over(
        partition_by=(c.agent, c.session), order_by=(sa.func.sum(c.cost).desc(), c.source)
    )
    ranked = sa.select(c.agent, c.session, c.source, rank.label("rank"))
    if "of_agent" in bound:
        ranked = ranked.where(c.agent == sa.bindparam("of_agent"))
    if "of_agents" in bound:
        ranked = ranked.where(c.agent.in_(sa.bindparam("of_agents", expanding=True)))
    if "of_repo" in bound:
        there = sa.select(t.agents.c.uid).where(t.agents.c.repo == sa.bindparam("of_repo"))
        ranked = ranked.where(c.agent.in_(there))
    if "of_day" in bound:
        # Whole sessions, of agents that spent anything on the day: history stays unread.
        then = sa.select(c.agent).where(c.day == sa.bindparam("of_day"))
        ranked = ranked.where(c.agent.in_(then))
    best = ranked.group_by(c.agent, c.session, c.source).subquery()
    same = (c.agent == best.c.agent) & (c.session == best.c.session) & (c.source == best.c.source)
    return sa.select(t.usage).join(best, same).where(best.c.rank == 1).subquery()


def mark(connection: sa.Connection, uid: Uid, name: str) -> dict[str, Any]:
    """What a reader kept about an agent, in whichever session it last did."""
    for session in rows.sessions(connection, uid):
        if name in session.marks:
            return dict(session.marks[name])
    return {}


def put_mark(writing: Writing, uid: Uid, session: int, name: str, value: dict[str, Any]) -> None:
    """Keeps it with a session, and no longer with earlier ones; other readers' marks stay."""
    for each in rows.sessions(writing.connection, uid):
        marks = {key: kept for key, kept in each.marks.items() if key != name}
        if each.number == session:
            marks[name] = value
        if marks != each.marks:
            rows.change_session(writing, uid, each.number, marks=marks)
