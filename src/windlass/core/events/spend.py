"""Events of budgets."""

from __future__ import annotations

from windlass.core.events.catalogue import EventData


class BudgetWarning(EventData, kind="budget.warning"):
    """A budget is spent, and the agent goes on because a subscription pays."""

    budget: str
    sentence: str


class BudgetExceeded(EventData, kind="budget.exceeded"):
    """A budget is spent, and the agent is being paused."""

    budget: str
    sentence: str
    hint: str
