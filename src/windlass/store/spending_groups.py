"""What was spent, summed up by the database: the whole, agent by agent, or in other groups.

What is converted is what is shown; of a year of sessions that is little.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import msgspec
import sqlalchemy as sa

from windlass.core.ids import AgentId, RepoId, Uid
from windlass.store import records
from windlass.store import tables as t
from windlass.store.counted_spending import TOKENS, counted, covered, owed

GroupedBy = Literal["role", "task", "step", "mode", "credential", "day", "model"]
_OF_SESSIONS = ("role", "step", "mode", "credential")


class Sum(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens and USD: what is owed, and what a subscription covers."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    usd: float = 0.0
    notional_usd: float = 0.0


class Whole(Sum, frozen=True, kw_only=True):
    """What all agents spent together, and how many of them spent anything."""

    agents: int


class OfAgent(Sum, frozen=True, kw_only=True):
    """What an agent spent; a live one is known before it has spent anything."""

    uid: Uid
    id: AgentId
    repo: RepoId
    role: str
    has_ended: bool
    has_spent: bool


class OfGroup(Sum, frozen=True, kw_only=True):
    """What a group spent. Its name may be empty; a task is one of a repository."""

    name: str
    repo: str


def whole(connection: sa.Connection, *, repo: RepoId | None, since: str | None) -> Whole:
    """What everybody spent, in a repository or in all, from a day on."""
    bound = _bound(repo, since)
    (summed,) = records.every(Whole, connection, _whole(frozenset(bound)), bound)
    return summed


def of_live(connection: sa.Connection, *, repo: RepoId | None, since: str | None) -> list[OfAgent]:
    """What each live agent spent, be it nothing."""
    bound = _bound(repo, since)
    return records.every(OfAgent, connection, _of_live(frozenset(bound)), bound)


def of_ended(
    connection: sa.Connection, *, repo: RepoId | None, since: str | None, most: int | None
) -> list[OfAgent]:
    """What ended agents spent that spent anything: of so many, or of all; the dearest first."""
    bound = _bound(repo, since)
    query = _of_ended(frozenset(bound), limited=most is not None)
    if most is not None:
        bound["most"] = most
    return records.every(OfAgent, connection, query, bound)


def grouped(
    connection: sa.Connection, by: GroupedBy, *, repo: RepoId | None, since: str | None
) -> list[OfGroup]:
    """What was spent by day, by model, by task, or by what sessions were."""
    bound = _bound(repo, since)
    return records.every(OfGroup, connection, _grouped(by, frozenset(bound)), bound)


def _bound(repo: RepoId | None, since: str | None) -> dict[str, Any]:
    asked = {"of_repo": repo, "since": since}
    return {name: value for name, value in asked.items() if value is not None}


def _sums(rows: sa.Subquery) -> list[sa.ColumnElement[Any]]:
    sums: dict[str, sa.ColumnElement[Any]] = {
        **{name: sa.func.sum(rows.c[name]) for name in TOKENS},
        "usd": owed(rows),
        "notional_usd": covered(rows),
    }
    return [sa.func.coalesce(sum_, 0).label(name) for name, sum_ in sums.items()]


def _agent(has_spent: sa.ColumnElement[Any]) -> list[sa.ColumnElement[Any]]:
    c = t.agents.c
    ended = c.ended_at.is_not(None).label("has_ended")
    return [c.uid, c.id, c.repo, c.role, ended, has_spent.label("has_spent")]


@cache
def _whole(bound: frozenset[str]) -> sa.Select[Any]:
    rows = counted(bound)
    agents = sa.func.count(rows.c.agent.distinct()).label("agents")
    return sa.select(agents, *_sums(rows))


@cache
def _of_live(bound: frozenset[str]) -> sa.Select[Any]:
    rows, agents = counted((bound | {"live"}) - {"of_repo"}), t.agents.c
    query = (
        sa.select(*_agent(sa.func.count(rows.c.agent) > 0), *_sums(rows))
        .select_from(t.agents)
        .outerjoin(rows, rows.c.agent == agents.uid)
        .where(agents.ended_at.is_(None))
        .group_by(agents.uid)
    )
    return query.where(agents.repo == sa.bindparam("of_repo")) if "of_repo" in bound else query


@cache
def _of_ended(bound: frozenset[str], *, limited: bool) -> sa.Select[Any]:
    rows, agents = counted(bound - {"of_repo"}), t.agents.c
    query = (
        sa.select(*_agent(sa.true()), *_sums(rows))
        .select_from(rows)
        .join(t.agents, agents.uid == rows.c.agent)
        .where(agents.ended_at.is_not(None))
        .group_by(agents.uid)
        .order_by(sa.func.sum(rows.c.cost).desc(), agents.id, agents.uid)
    )
    if "of_repo" in bound:
        query = query.where(agents.repo == sa.bindparam("of_repo"))
    return query.limit(sa.bindparam("most")) if limited else query


@cache
def _grouped(by: GroupedBy, bound: frozenset[str]) -> sa.Select[Any]:
    rows, agents, sessions = counted(bound), t.agents.c, t.sessions.c
    repo: sa.ColumnElement[Any] = sa.literal("")
    name: sa.ColumnElement[Any]
    match by:
        case "day" | "model":
            name = rows.c[by]
        case "task":
            name, repo = agents.task, sa.case((agents.task == "", ""), else_=agents.repo)
        case "role":  # an agent of a run has another one in each step
            name = sa.func.coalesce(sessions.part["role"].as_string(), agents.role)
        case "step":
            name = sa.func.coalesce(sessions.part["label"].as_string(), "")
        case _:
            name = sa.func.coalesce(sessions[by], "")
    query = (
        sa.select(name.label("name"), repo.label("repo"), *_sums(rows))
        .select_from(rows)
        .group_by(name, repo)
    )
    if by in (*_OF_SESSIONS, "task"):
        query = query.join(t.agents, agents.uid == rows.c.agent)
    if by in _OF_SESSIONS:
        this = (sessions.agent == rows.c.agent) & (sessions.number == rows.c.session)
        query = query.outerjoin(t.sessions, this)
    return query
