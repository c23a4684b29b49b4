"""Events of spending and budgets."""

from __future__ import annotations

from windlass.core.events.catalogue import EventData
from windlass.core.ids import AgentId

USAGE_REFUSED = "usage:refused"
"""The subject of spending that was not believed."""
USAGE_WINDOW = "usage:window"
"""The subject of what was shown of usage windows."""


class UsageRefused(EventData, kind="usage.refused"):
    """An agent's own files told of spending that no agent CLI could report; it is not counted."""

    source: str
    reports: int
    why: str

    def subject(self) -> str:
        """One for all of them: by it they are found, which are few among many events."""
        return USAGE_REFUSED


class UsageReckoned(EventData, kind="usage.reckoned"):
    """An answer of the model's did not tell what it used, so it was counted by its size."""

    why: str


class UsageWindowSeen(EventData, kind="usage.window"):
    """The CLI of an agent showed how much of a subscription's usage window is used."""

    driver: str
    window: str
    percent: float
    resets_at: float
    by: AgentId

    def subject(self) -> str:
        """One for all of them: by it they are found, which are few among many events."""
        return USAGE_WINDOW


class BudgetWarning(EventData, kind="budget.warning"):
    """A budget is spent, and the agent goes on because a subscription pays."""

    budget: str
    sentence: str


class BudgetExceeded(EventData, kind="budget.exceeded"):
    """A budget is spent, and the agent is being paused."""

    budget: str
    sentence: str
    hint: str
