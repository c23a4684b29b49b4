"""Budgets of runs and of their steps: a run is told of one that is spent, and ends what it does.

Whose run does nothing about it, because it is over or waits to land, is paused as anybody is.
"""

from __future__ import annotations

from collections.abc import Iterable

import sqlalchemy as sa

from windlass.core.crew import Agent
from windlass.core.events import BudgetExceeded
from windlass.core.pricing import OF_RUN, OF_STEP, Exceeded
from windlass.store import rows, spending
from windlass.store.store import Writing

KINDS = (OF_RUN, OF_STEP)
PATIENCE = 60.0
"""Seconds that a run has to end what has spent its budget, until that is paused."""
_MARK = "run_budgets"
"""The mark that holds, by budget, the session and the moment at which its run was told."""


def visit_cost(connection: sa.Connection, agent: Agent, *, notional: bool) -> float:
    """What the visit of a step has cost that an agent is at."""
    sessions = rows.sessions(connection, agent.uid)
    part = sessions[0].part if sessions else None
    if part is None:
        return 0.0
    visit = (part.label, part.visit)
    counted = {
        session.number
        for session in sessions
        if session.part is not None and (session.part.label, session.part.visit) == visit
    }
    return sum(
        each.notional_usd if notional else each.usd
        for each in spending.by_session(connection, [agent.uid])
        if each.session in counted
    )


def overdue(
    connection: sa.Connection, agent: Agent, session: int, spent: Iterable[Exceeded], *, now: float
) -> list[Exceeded]:
    """Those of which a run was told a while ago, in the session that goes on all the same."""
    told = spending.mark(connection, agent.uid, _MARK)
    return [
        limit
        for limit in spent
        if (known := told.get(limit.budget)) is not None
        and known["session"] == session
        and now - known["at"] >= PATIENCE
    ]


def tell(writing: Writing, agent: Agent, session: int, spent: Iterable[Exceeded]) -> None:
    """Tells the run of an agent of each budget that is spent, once a session."""
    told = spending.mark(writing.connection, agent.uid, _MARK)
    fresh = [limit for limit in spent if told.get(limit.budget, {}).get("session") != session]
    for limit in fresh:
        event = BudgetExceeded(
            budget=limit.budget, sentence=limit.sentence, hint=limit.hint, session=session
        )
        writing.emit(event, repo=agent.repo, agent=agent.uid)
    if fresh:
        now = {limit.budget: {"session": session, "at": writing.now} for limit in fresh}
        spending.put_mark(writing, agent.uid, session, _MARK, {**told, **now})
