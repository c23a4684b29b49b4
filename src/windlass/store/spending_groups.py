"""What was spent, summed up by the database: agent by agent, or in other groups.

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
_ALL = 1 << 31
_OF_SESSIONS = ("role", "step", "mode", "credential")


class Sum(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens and USD: what is owed, and what a subscription covers."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    usd: float = 0.0
    notional_usd: float = 0.0


class OfAgents(Sum, frozen=True, kw_only=True):
    """What several agents spent together."""

    agents: int


class OfAgent(Sum, frozen=True, kw_only=True):
    """What an agent spent; a live one is known before it has spent anything."""

    uid: Uid
    id: AgentId
    repo: RepoId
    role: str
    has_ended: bool


class OfGroup(Sum, frozen=True, kw_only=True):
    """What a group spent. Its name may be empty; a task is one of a repository."""

    name: str
    repo: str


def of_live(connection: sa.Connection, *, repo: RepoId | None, since: str | None) -> list[OfAgent]:
    """What each live agent spent, be it nothing."""
    bound = _bound(repo, since)
    return records.every(OfAgent, connection, _of_live(frozenset(bound)), bound)


def of_ended(
    connection: sa.Connection, *, repo: RepoId | None, since: str | None, most: int | None
) -> tuple[list[OfAgent], OfAgents]:
    """What ended agents spent: so many of them or all, the dearest first; and all together."""
    bound = _bound(repo, since)
    query = _of_ended(frozenset(bound))
    found = connection.execute(query, {**bound, "most": _ALL if most is None else most}).all()
    each = [records.shaped(OfAgent, row) for row in found if row.uid is not None]
    (together,) = [records.shaped(OfAgents, row) for row in found if row.uid is None]
    return each, together


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


def _agent() -> list[sa.ColumnElement[Any]]:
    c = t.agents.c
    return [c.uid, c.id, c.repo, c.role, c.ended_at.is_not(None).label("has_ended")]


@cache
def _of_live(bound: frozenset[str]) -> sa.Select[Any]:
    rows, agents = counted((bound | {"live"}) - {"of_repo"}), t.agents.c
    query = (
        sa.select(*_agent(), *_sums(rows))
        .select_from(t.agents)
        .outerjoin(rows, rows.c.agent == agents.uid)
        .where(agents.ended_at.is_(None))
        .group_by(agents.uid)
    )
    return query.where(agents.repo == sa.bindparam("of_repo")) if "of_repo" in bound else query


@cache
def _of_ended(bound: frozenset[str]) -> sa.CompoundSelect[Any]:
    """Both in one statement: the sums of each are made once, and the last row is of all of them."""
    rows, agents = counted(bound - {"of_repo"}), t.agents.c
    query = (
        sa.select(*_agent(), *_sums(rows))
        .select_from(rows)
        .join(t.agents, agents.uid == rows.c.agent)
        .where(agents.ended_at.is_not(None))
        .group_by(agents.uid)
    )
    if "of_repo" in bound:
        query = query.where(agents.repo == sa.bindparam("of_repo"))
    each = query.cte("each")
    dearest = (
        sa.select(each, sa.literal(1).label("agents"))
        .order_by((each.c.usd + each.c.notional_usd).desc(), each.c.id, each.c.uid)
        .limit(sa.bindparam("most"))
        .subquery()
    )
    summed = Sum.__struct_fields__
    nobody = [sa.null() for _ in _agent()]
    sums = [sa.func.coalesce(sa.func.sum(each.c[name]), 0) for name in summed]
    return sa.union_all(sa.select(dearest), sa.select(*nobody, *sums, sa.func.count(each.c.uid)))


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
