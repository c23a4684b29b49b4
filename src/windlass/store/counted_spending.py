"""Which rows of spending count, and columns that sum them up.

The same spending may be in the table twice, once per source. Of a session only the source that
says more counts; so every sum is made of what this module selects.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from windlass.store import tables as t

TOKENS = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)


def counted(bound: frozenset[str] = frozenset()) -> sa.Subquery:
    """The rows that count: of each session those of the source that comes to more.

    Sources are compared by session, not by model: a model may be called one thing where it is asked
    for and another where it answers, and would then count twice. Most sessions have one source;
    only the others are compared, so history is read once and not sorted. `bound` names what limits
    the rows, as parameters: `of_agent`, `of_agents`, `of_repo`, `of_day`, `since`; `live` takes
    none.
    """
    c = t.usage.c
    lesser = _lesser(bound)
    chosen = sa.select(t.usage).where(*_of(bound))
    if "of_repo" in bound:
        # Agent by agent: a list of everybody there takes longer than all the rest.
        here = (t.agents.c.uid == c.agent) & (t.agents.c.repo == sa.bindparam("of_repo"))
        chosen = chosen.where(sa.exists().where(here))
    if "of_day" in bound:
        chosen = chosen.where(c.day == sa.bindparam("of_day"))
    if "since" in bound:
        chosen = chosen.where(c.day >= sa.bindparam("since"))
    return chosen.where(sa.tuple_(c.agent, c.session, c.source).not_in(lesser)).subquery()


def owed(counted: sa.Subquery) -> sa.ColumnElement[Any]:
    """What somebody is billed for."""
    return sa.func.sum(sa.case((counted.c.notional, 0.0), else_=counted.c.cost))


def covered(counted: sa.Subquery) -> sa.ColumnElement[Any]:
    """What a subscription pays, at the price of tokens."""
    return sa.func.sum(sa.case((counted.c.notional, counted.c.cost), else_=0.0))


def _lesser(bound: frozenset[str]) -> sa.Select[Any]:
    """The sources of sessions that say less than another one of the same session."""
    c = t.usage.c
    some_source, another = sa.func.min(c.source), sa.func.max(c.source)
    several = (
        sa.select(c.agent, c.session)
        .where(*_of(bound), *_that_spent_then(bound))
        .group_by(c.agent, c.session)
        .having(some_source != another)
        .subquery()
    )
    rank = sa.func.row_number().over(
        partition_by=(c.agent, c.session), order_by=(sa.func.sum(c.cost).desc(), c.source)
    )
    ranked = (
        sa.select(c.agent, c.session, c.source, rank.label("rank"))
        .join(several, (c.agent == several.c.agent) & (c.session == several.c.session))
        .group_by(c.agent, c.session, c.source)
        .subquery()
    )
    chosen = sa.select(ranked.c.agent, ranked.c.session, ranked.c.source)
    return chosen.where(ranked.c.rank > 1)


def _of(bound: frozenset[str]) -> list[sa.ColumnElement[bool]]:
    """Whose spending it is, where that is of few."""
    agent, agents = t.usage.c.agent, t.agents.c
    conditions: list[sa.ColumnElement[bool]] = []
    if "of_agent" in bound:
        conditions.append(agent == sa.bindparam("of_agent"))
    if "of_agents" in bound:
        conditions.append(agent.in_(sa.bindparam("of_agents", expanding=True)))
    if "live" in bound:
        conditions.append(agent.in_(sa.select(agents.uid).where(agents.ended_at.is_(None))))
    return conditions


def _that_spent_then(bound: frozenset[str]) -> list[sa.ColumnElement[bool]]:
    """Whole sessions, of agents that spent anything then: what was before stays unread."""
    c = t.usage.c
    conditions: list[sa.ColumnElement[bool]] = []
    if "of_day" in bound:
        then = sa.select(c.agent).where(c.day == sa.bindparam("of_day"))
        conditions.append(c.agent.in_(then))
    if "since" in bound:
        then = sa.select(c.agent).where(c.day >= sa.bindparam("since"))
        conditions.append(c.agent.in_(then))
    return conditions
