"""What an agent has left of its own limits, for those that it starts or goes on with."""

from __future__ import annotations

from typing import Any

from windlass.core.allowances import Allowance
from windlass.core.crew import Agent, Limits
from windlass.daemon.kernel import repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.spend import budgets
from windlass.store import rows, spending


def of(context: Context, giver: Agent, *, beside: Agent | None = None) -> Allowance:
    """What is left to a giver: of its money what neither it nor anybody below it has spent.

    `beside` is an agent that has limits already: what it took counts for those, and is left here.
    """
    root = repos.by_id(context, giver.repo).root
    budget = settings.usable(context.folders.home, root).require("budget").budget
    now = context.clock.now()
    left = context.store.read(lambda c: _left(c, giver, beside, now))
    return Allowance(giver.id, left, budget.agent)


def _left(connection: Any, giver: Agent, beside: Agent | None, now: float) -> Limits:
    limits = giver.limits
    return Limits(
        turns=limits.turns,
        usd=None if limits.usd is None else limits.usd - _spent(connection, giver, beside),
        seconds=None
        if limits.seconds is None
        else min(limits.seconds, limits.seconds - _more_time(connection, giver, beside, now)),
    )


def _spent(connection: Any, giver: Agent, beside: Agent | None) -> float:
    """What a giver and everybody below it owe, also those that have ended."""
    counted = rows.below(connection, giver.uid) - ({beside.uid} if beside else set())
    return sum(session.usd for session in spending.by_session(connection, counted))


def _more_time(connection: Any, giver: Agent, beside: Agent | None, now: float) -> float:
    """How much longer a giver has been at work than who is beside it."""
    own = budgets.time_taken(connection, giver, now)
    return own - (budgets.time_taken(connection, beside, now) if beside else 0.0)
