"""A run that waits for its model or for money, and one that has spent what it may."""

from __future__ import annotations

import pytest
from tests.core.runs.told import WORKER, Told

from windlass.core import jobs
from windlass.core.events import BudgetExceeded
from windlass.core.runs import orders
from windlass.core.runs.moves import MOST_FAILURES


@pytest.fixture
def told() -> Told:
    """Its agent is there, and the first session runs."""
    told = Told().hear(jobs.BEGUN).done(orders.PREPARE, uid="u")
    return told.done(orders.BEGIN, session=1, rests=False)


def test_a_model_that_is_down_ends_no_run_and_its_failure_is_noted_once(told: Told) -> None:
    for _ in range(3 * MOST_FAILURES):
        effect = told.turn(1, "server_error: 529", failed=True).last.effects[0]
        assert (effect.what, effect.data["asks"]) == (orders.ASK, "model")
        assert effect.data["failed"] == "server_error: 529"
        told.done(orders.ASK, until=told.now + 50, why="server_error: 529", turn=0.0)
        assert told.state.held == "server_error: 529"
        assert told.last.wake_at == told.now + 50
        effect = told.later(50).last.effects[0]
        assert (effect.data["failed"], effect.data["outage"]) == ("", True)
        told.done(orders.ASK)
        assert told.state.stage == "working"
        assert told.state.held == ""
    assert told.turn(1, "<result>PASS</result>").asked == orders.CLOSE


def test_time_that_a_run_waited_for_its_model_is_not_its_own(told: Told) -> None:
    told.turn(1, "server_error: 529", failed=True)
    told.done(orders.ASK, until=told.now + 3600, why="down", turn=0.0)
    told.later(3600)
    told.done(orders.ASK)
    assert told.state.until == told.now + WORKER.timeout


def test_a_session_that_may_not_begin_yet_begins_later_and_nothing_counts() -> None:
    told = Told().hear(jobs.BEGUN).done(orders.PREPARE, uid="u")
    told.done(orders.BEGIN, until=told.now + 300, why="the day's money is spent", turn=7.0)
    assert (told.state.stage, told.asked) == ("beginning", "")
    assert told.later(300).last.effects[0].data["turn"] == 7.0
    told.done(orders.BEGIN, session=1, rests=False)
    assert (told.state.sessions, told.state.failures, told.state.held) == (1, 0, "")


def test_a_run_that_is_dropped_while_it_waits_for_money_ends(told: Told) -> None:
    told.turn(1, "server_error: 529", failed=True)
    told.hear(jobs.CANCELLED, why="not wanted")
    assert told.done(orders.ASK, until=told.now + 50, why="down", turn=0.0).asked == orders.CLOSE


def test_a_visit_that_spends_its_budget_is_unknown_and_says_why(told: Told) -> None:
    spent = {"budget": "budget.step", "sentence": "this visit has cost 2.00 of 1.00 USD"}
    told.hear(BudgetExceeded.kind, agent="u", session=1, hint="", **spent)
    assert told.asked == orders.CLOSE
    assert told.state.result == "UNKNOWN"
    assert "2.00 of 1.00 USD" in told.state.said


def test_a_result_that_came_before_the_budget_was_spent_counts(told: Told) -> None:
    told.later(200)
    told.turn(1, "<result>PASS</result>")
    spent = {"budget": "budget.step", "sentence": "too dear"}
    told.hear(BudgetExceeded.kind, agent="u", session=1, hint="", **spent)
    told.done(orders.LOOK, rests=False)
    assert told.state.result == "PASS"


def test_a_run_that_spends_its_budget_fails(told: Told) -> None:
    spent = {"budget": "budget.run", "sentence": "the run of A-1 has cost 3.00 of 2.00 USD"}
    told.hear(BudgetExceeded.kind, agent="u", session=1, hint="", **spent)
    assert told.asked == orders.CLOSE
    assert told.state.ending is not None
    assert told.state.ending.why == spent["sentence"]


def test_budgets_of_an_agent_and_of_all_are_left_to_who_pauses_it(told: Told) -> None:
    spent = {"budget": "budget.agent", "sentence": "agent a-1 has spent 10.00 of 10.00 USD"}
    told.hear(BudgetExceeded.kind, agent="u", session=1, hint="", **spent)
    assert (told.asked, told.state.stage) == ("", "working")
