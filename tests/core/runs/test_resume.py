"""A run that stopped without a result, and what is decided about it."""

from __future__ import annotations

import pytest
from tests.core.runs.told import Told

from windlass.core import jobs
from windlass.core.events import BudgetExceeded
from windlass.core.pipeline.steps import Pipeline, Step
from windlass.core.runs import moves, orders, resume

TWO = Pipeline(name="one", steps=(Step(id="do", agent="worker"),))


def stopped(*, decides: bool = True) -> Told:
    """A step gave no result, and none when it was asked once more."""
    told = Told(pipeline=TWO, decides=decides).hear(jobs.BEGUN).done(orders.PREPARE, uid="u")
    told.done(orders.BEGIN, session=1, rests=False, tip="t0")
    told.turn(1, "nothing").done(orders.ASK)
    told.turn(1, "nothing")
    return told.done(orders.CLOSE, result="UNKNOWN")


def decide(told: Told, said: str, session: int = 2) -> Told:
    """The session that decides says so, and ends."""
    assert told.asked == orders.BEGIN
    assert (told.order["duty"], told.order["role"]) == ("resume", "resume-decide")
    told.done(orders.BEGIN, session=session, rests=False, tip="t1")
    assert told.turn(session, said).asked == orders.ITERATE
    assert told.order["readonly"]
    return told.done(orders.ITERATE, waits=False)


def answer(word: str) -> str:
    return f"<report>{word}: as it is</report>\n<result>PASS</result>"


def test_without_a_role_of_the_repositorys_own_the_run_has_failed() -> None:
    told = stopped(decides=False)
    assert told.asked == orders.FINISH
    assert told.state.ending is not None
    assert "no result that counts" in told.state.ending.why


def test_who_decides_is_told_why_it_stopped_and_only_looks() -> None:
    told = stopped()
    assert "no result that counts" in told.order["stopped"]
    assert told.order["readonly"]


def test_a_retry_goes_on_with_the_same_step_after_a_pause() -> None:
    told = decide(stopped(), answer("retry"))
    assert told.asked == ""
    assert told.last.wake_at == told.now + resume.COOL_DOWN
    assert "as it is" in told.state.held
    told.later(resume.COOL_DOWN)
    assert told.asked == orders.BEGIN
    assert (told.order["label"], told.order["duty"], told.order["visit"]) == ("do", "work", 2)
    told.done(orders.BEGIN, session=3, rests=False, tip="t1")
    assert told.turn(3, "<result>PASS</result>").asked == orders.CLOSE
    assert told.done(orders.CLOSE, result="PASS").asked == orders.SUBMIT


def test_a_restart_takes_the_tree_back_to_where_the_step_began() -> None:
    told = stopped()
    told.done(orders.BEGIN, session=2, rests=False, tip="t1")
    told.turn(2, answer("restart"))
    assert told.order["back_to"] == "t0"
    told.done(orders.ITERATE, waits=False)
    assert told.state.stage == "beginning"


@pytest.mark.parametrize("said", [answer("abort"), answer("perhaps"), "no report at all"])
def test_an_abort_and_no_decision_end_the_run(said: str) -> None:
    told = stopped().done(orders.BEGIN, session=2, rests=False, tip="t1")
    told.turn(2, said)
    if told.asked == orders.ASK:
        assert told.order["asks"] == "decision"
        told.done(orders.ASK)
        told.turn(2, said)
    assert told.done(orders.ITERATE, waits=False).asked == orders.FINISH
    assert told.state.ending is not None
    assert "no result that counts" in told.state.ending.why
    assert told.state.verdicts[0].answer == "abort"


def test_what_is_deferred_goes_on_much_later_or_when_somebody_says_so() -> None:
    told = decide(stopped(), answer("defer"))
    assert told.last.wake_at == told.now + resume.DEFERRED
    assert resume.is_deferred(told.state)
    assert told.later(1).asked == orders.BEGIN
    assert not resume.is_deferred(told.state)


def test_it_is_decided_some_times_with_longer_pauses_and_then_it_has_failed() -> None:
    told, session = stopped(), 2
    for number in range(resume.MOST):
        decide(told, answer("retry"), session)
        assert told.last.wake_at == told.now + resume.COOL_DOWN * 2**number
        told.later(1000)
        told.done(orders.BEGIN, session=session + 1, rests=False, tip="t0")
        told.turn(session + 1, "nothing").done(orders.ASK)
        told.turn(session + 1, "nothing")
        told.done(orders.CLOSE, result="UNKNOWN")
        session += 2
    assert told.asked == orders.FINISH
    assert told.state.ending is not None
    assert "after 3 decisions" in told.state.ending.why


def test_sessions_that_die_are_decided_about_and_one_that_decides_may_die_too() -> None:
    told = Told(pipeline=TWO, decides=True).hear(jobs.BEGUN).done(orders.PREPARE, uid="u")
    told.done(orders.BEGIN, session=1, rests=False, tip="t0")
    for session in range(1, moves.MOST_FAILURES + 1):
        told.ends(session)
        if session < moves.MOST_FAILURES:
            told.later(400).done(orders.BEGIN, session=session + 1, rests=False, tip="t0")
    assert told.order["duty"] == "resume"
    assert "6 times" in told.order["stopped"]
    for session in range(7, 7 + moves.MOST_FAILURES):
        told.done(orders.BEGIN, session=session, rests=False, tip="t0").ends(session)
        told.later(400)
    assert told.state.ending is not None
    assert "gave no answer" in told.state.ending.why


def test_a_decision_that_is_too_dear_is_none() -> None:
    told = stopped().done(orders.BEGIN, session=2, rests=False, tip="t1")
    spent = {"budget": "budget.step", "sentence": "too dear", "hint": ""}
    told.hear(BudgetExceeded.kind, agent="u", session=2, **spent)
    assert told.asked == orders.ITERATE
    assert told.done(orders.ITERATE, waits=False).asked == orders.FINISH


def test_who_drops_a_task_that_waits_for_its_retry_overrules_that() -> None:
    told = decide(stopped(), answer("defer")).hear(jobs.CANCELLED, why="not wanted")
    assert told.state.ending is not None
    assert told.state.ending.outcome == "dropped"
