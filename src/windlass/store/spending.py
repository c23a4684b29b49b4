"""Queries on what was spent, and on the marks that say how far spending was read.

Sums for `wl costs`, in groups, are in `spending_groups`; which rows count `counted_spending` says.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any

import msgspec
import sqlalchemy as sa

from windlass.core import shapes
from windlass.core.crew import Limits
from windlass.core.ids import RepoId, Uid
from windlass.core.usage import Usage
from windlass.store import counted_spending, records, rows
from windlass.store import tables as t
from windlass.store.counted_spending import Source
from windlass.store.store import Writing

_SUMMED = (*counted_spending.TOKENS, "cost")


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


class SessionTotal(msgspec.Struct, frozen=True, kw_only=True):
    """What one session of an agent came to; a part of it may be a subscription's."""

    agent: Uid
    session: int
    usd: float
    notional_usd: float


def by_session(connection: sa.Connection, agents: Collection[Uid]) -> list[SessionTotal]:
    """What each session of these agents came to."""
    return records.every(SessionTotal, connection, _by_session(), {"of_agents": list(agents)})


@cache
def _by_session() -> sa.Select[Any]:
    counted = counted_spending.counted(frozenset({"of_agents"}))
    return sa.select(
        counted.c.agent,
        counted.c.session,
        counted_spending.owed(counted).label("usd"),
        counted_spending.covered(counted).label("notional_usd"),
    ).group_by(counted.c.agent, counted.c.session)


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


def totals(connection: sa.Connection, *, notional: bool, day: str) -> list[AgentTotal]:
    """The USD of all spending of one kind on a day, agent by agent."""
    bound = {"of_day": day, "of_kind": notional}
    return records.every(AgentTotal, connection, _totals(), bound)


def common(connection: sa.Connection, *, notional: bool, repo: RepoId, limit: float) -> float:
    """What counts towards the budget of a repository, as `pricing.common` has it.

    Of each agent, live or ended, what it has spent of one kind, up to its own limit or else to
    this one. The database adds it up: there may be thousands, and it is asked at every look.
    """
    bound = {"of_repo": repo, "of_kind": notional, "of_limit": limit}
    return float(connection.execute(_common(), bound).scalar() or 0.0)


@cache
def _totals() -> sa.Select[Any]:
    counted = counted_spending.counted(frozenset({"of_day"}))
    agents = t.agents.c
    return (
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


@cache
def _common() -> sa.Select[Any]:
    counted = counted_spending.counted()
    agents = t.agents.c
    limit = sa.func.coalesce(agents.limits["usd"].as_float(), sa.bindparam("of_limit"))
    each = (
        sa.select(sa.func.sum(counted.c.cost).label("cost"), limit.label("limit"))
        .select_from(counted)
        .join(t.agents, agents.uid == counted.c.agent)
        .where(counted.c.notional == sa.bindparam("of_kind"))
        .where(agents.repo == sa.bindparam("of_repo"))
        .group_by(agents.uid)
        .subquery()
    )
    is_beyond = (each.c.limit > 0) & (each.c.cost > each.c.limit)
    return sa.select(sa.func.sum(sa.case((is_beyond, each.c.limit), else_=each.c.cost)))


@cache
def _total(bound: frozenset[str]) -> sa.Select[tuple[Any]]:
    """Made once: budgets are judged at every look, and making it takes longer than asking."""
    counted = counted_spending.counted(bound)
    query = sa.select(sa.func.sum(counted.c.cost))
    return query.where(counted.c.notional == sa.bindparam("of_kind"))


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
