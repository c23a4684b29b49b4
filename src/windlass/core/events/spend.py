"""Events of spending and budgets."""

from __future__ import annotations

from typing import Any

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


class BackendState(EventData, kind="backend.state"):
    """What is known of a driver's model: the newest one counts."""

    driver: str
    backend: dict[str, Any]

    @staticmethod
    def subject_of(driver: str) -> str:
        """By it the newest one of a driver is found."""
        return f"backend:{driver}"

    def subject(self) -> str:
        """One for each driver: all its agents ask the same model."""
        return self.subject_of(self.driver)


class BackendDown(EventData, kind="backend.down"):
    """A driver's model cannot be asked; its runs wait, and one of them tries now and then."""

    driver: str
    why: str


class BackendUp(EventData, kind="backend.up"):
    """A driver's model answers again, after so many tries; its runs go on one after the other."""

    driver: str
    seconds: float
    tries: int


class BudgetWarning(EventData, kind="budget.warning"):
    """A budget is spent, and the agent goes on because a subscription pays."""

    budget: str
    sentence: str


class BudgetExceeded(EventData, kind="budget.exceeded"):
    """A budget is spent, and the agent is being paused; one of a run's is ended by that."""

    budget: str
    sentence: str
    hint: str
    session: int = 0
    """In which a run's agent has spent it."""
