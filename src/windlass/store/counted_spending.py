"""Which rows of spending count, and columns that sum them up.

The same spending may be in the table twice, once per source. Of a session only the source that
says more counts; so every sum is made of what this module selects.
"""

from __future__ import annotations

from typing import Any, Literal

import sqlalchemy as sa

from windlass.store import tables as t

Source = Literal["transcript", "result", "relay"]
_SOURCES: tuple[Source, ...] = ("relay", "result", "transcript")
"""Where two come to the same, the first of them counts."""
TOKENS = (
    "input_tokens",
    "output_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
)


def counted(bound: frozenset[str] = frozenset()) -> sa.Subquery:
    """The rows that count: of each session those of the source that comes to more.

    Sources are compared by session, not by model: a model may be called one thing where it is asked
    for and another where it answers, and would then count twice. Of agents that have conversations
    alone they are not compared: history is read once, as it lies. `bound` names what limits
    the rows, as parameters: `of_agent`, `of_agents`, `of_repo`, `of_day`, `since`; `live` takes
    none.
    """
    c = t.usage.c
    best = _best(bound)
    this = (best.c.agent == c.agent) & (best.c.session == c.session)
    chosen = sa.select(t.usage).outerjoin(best, this).where(*_of(bound))
    if "of_repo" in bound:
        # Agent by agent: a list of everybody there takes longer than all the rest.
        here = (t.agents.c.uid == c.agent) & (t.agents.c.repo == sa.bindparam("of_repo"))
        chosen = chosen.where(sa.exists().where(here))
    if "of_day" in bound:
        chosen = chosen.where(c.day == sa.bindparam("of_day"))
    if "since" in bound:
        chosen = chosen.where(c.day >= sa.bindparam("since"))
    return chosen.where(best.c.source.is_(None) | (best.c.source == c.source)).subquery()


def owed(counted: sa.Subquery) -> sa.ColumnElement[Any]:
    """What somebody is billed for."""
    return sa.func.sum(sa.case((counted.c.notional, 0.0), else_=counted.c.cost))


def covered(counted: sa.Subquery) -> sa.ColumnElement[Any]:
    """What a subscription pays, at the price of tokens."""
    return sa.func.sum(sa.case((counted.c.notional, counted.c.cost), else_=0.0))


def _best(bound: frozenset[str]) -> sa.Subquery:
    """The source of each session that comes to most, of agents that may have several.

    One look at each row, in the order in which the rows lie; ranked by a window they are sorted.
    """
    c = t.usage.c
    costs = {
        name: sa.func.sum(sa.case((c.source == name, c.cost))).label(name) for name in _SOURCES
    }
    summed = (
        sa.select(c.agent, c.session, *costs.values())
        .where(*(_of(bound) or _of_some(bound)))
        .group_by(c.agent, c.session)
        .subquery()
    )
    # Of a source that a session does not have the sum is NULL, which is at least nothing.
    costs_at_least = {name: sa.func.coalesce(summed.c[name], 0) for name in _SOURCES}
    most = [
        (sa.and_(*(summed.c[name] >= least for least in costs_at_least.values())), name)
        for name in _SOURCES
    ]
    return sa.select(summed.c.agent, summed.c.session, sa.case(*most).label("source")).subquery()


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


def _of_some(bound: frozenset[str]) -> list[sa.ColumnElement[bool]]:
    """Whose sessions are compared, whole, where it is of many: of the others there is no need to.

    These are agents that spent anything on a day, or else all that have another source.
    """
    c = t.usage.c
    if "of_day" in bound:
        some = c.day == sa.bindparam("of_day")
    elif "since" in bound:
        some = c.day >= sa.bindparam("since")
    else:
        some = c.source != "transcript"
    return [c.agent.in_(sa.select(c.agent).where(some))]
