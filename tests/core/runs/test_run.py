"""A run by itself: what follows from each piece of news in each stage."""

from __future__ import annotations

import pytest
from tests.core.runs.told import Told

from windlass.core import jobs
from windlass.core.events import AgentEnded, ChangeLanded, ChangeStopped
from windlass.core.runs import moves, orders


@pytest.fixture
def told() -> Told:
    """Its agent is there, and the first session runs."""
    told = Told().hear(jobs.BEGUN).done(orders.PREPARE, uid="u")
    return told.done(orders.BEGIN, session=1, rests=False)


def test_a_visit_goes_from_its_session_to_its_result_and_the_next_step(told: Told) -> None:
    assert told.state.stage == "working"
    assert told.turn(1, "<result>PASS</result>").asked == orders.CLOSE
    assert told.done(orders.CLOSE, result="PASS").asked == orders.BEGIN
    assert (told.state.label, told.state.visits[0].result) == ("see", "PASS")


@pytest.mark.parametrize("early", ["turn", "death", "failed turn"])
def test_what_is_heard_before_the_session_is_known_to_have_begun_counts(early: str) -> None:
    told = Told().hear(jobs.BEGUN).done(orders.PREPARE, uid="u")
    if early == "death":
        told.ends(1)
    else:
        told.turn(1, "<result>PASS</result>", failed=early == "failed turn")
    told.done(orders.BEGIN, session=1, rests=False)
    wanted = {"turn": "closing", "death": "beginning", "failed turn": "asking"}
    assert told.state.stage == wanted[early]


def test_an_answer_that_is_quicker_than_the_record_of_the_question_counts(told: Told) -> None:
    assert told.turn(1, "nothing").asked == orders.ASK
    told.turn(1, "<result>FAIL</result>")
    assert told.done(orders.ASK).asked == orders.CLOSE
    assert told.state.result == "FAIL"


def test_a_result_that_comes_while_the_agent_is_looked_at_counts(told: Told) -> None:
    assert told.later(200).asked == orders.LOOK
    told.turn(1, "<result>PASS</result>")
    assert told.done(orders.LOOK, rests=False).asked == orders.CLOSE
    assert told.state.result == "PASS"


def test_who_has_rested_has_all_of_its_time_again(told: Told) -> None:
    told.later(200).done(orders.LOOK, rests=True)
    told.later(400).done(orders.LOOK, rests=False)
    assert told.state.stage == "working"
    assert told.later(50).asked == ""
    told.later(60)
    assert told.done(orders.LOOK, rests=False).asked == orders.CLOSE
    assert "longer than 100 s" in told.state.said


def test_a_model_that_fails_again_and_again_ends_the_run(told: Told) -> None:
    pauses = []
    for _ in range(moves.MOST_FAILURES - 1):
        told.turn(1, "authentication_failed: 401", failed=True)
        pauses.append((told.last.wake_at or 0.0) - told.now)
        assert told.later(400).asked == orders.ASK
        told.done(orders.ASK)
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[-1]
    assert told.turn(1, "authentication_failed: 401", failed=True).asked == orders.CLOSE
    assert told.state.ending is not None
    assert "authentication_failed: 401" in told.state.ending.why


def test_sessions_that_die_one_after_the_other_end_the_run(told: Told) -> None:
    for session in range(1, moves.MOST_FAILURES):
        told.ends(session)
        assert told.later(400).asked == orders.BEGIN
        told.done(orders.BEGIN, session=session + 1, rests=False)
    told.ends(moves.MOST_FAILURES)
    assert told.state.ending is not None
    assert "6 times" in told.state.ending.why


def test_who_is_paused_between_two_visits_begins_the_next_later(told: Told) -> None:
    told.turn(1, "<result>PASS</result>").done(orders.CLOSE, result="PASS")
    told.done(orders.BEGIN, session=1, rests=True)
    assert told.state.stage == "beginning"
    assert told.later(400).asked == orders.BEGIN


def landing(told: Told) -> Told:
    """Both steps have passed, and the change waits."""
    told.turn(1, "<result>PASS</result>").done(orders.CLOSE, result="PASS")
    told.done(orders.BEGIN, session=2, rests=False).turn(2, "<result>PASS</result>")
    assert told.done(orders.CLOSE, result="PASS").asked == orders.SUBMIT
    return told


def test_a_change_that_lands_before_it_is_known_to_be_submitted_has_landed(told: Told) -> None:
    landing(told).hear(AgentEnded.kind, agent="u", how="landed", by="windlass", id="a")
    told.done(orders.SUBMIT, change="c1", state="landed", commit="abc")
    assert told.asked == orders.FINISH
    assert told.state.ending is not None
    assert (told.state.ending.outcome, told.state.ending.commit) == ("landed", "abc")


def test_a_change_that_came_back_and_lands_by_somebodys_hand_has_landed(told: Told) -> None:
    landing(told).done(orders.SUBMIT, change="c1", state="queued", commit=None)
    told.hear(ChangeStopped.kind, change="c1", state="rejected", why="red")
    assert told.asked == orders.BEGIN
    told.hear(ChangeLanded.kind, change="c1", commit="abc")
    told.done(orders.BEGIN, session=3, rests=False)
    assert told.state.ending is not None
    assert told.state.ending.outcome == "landed"


def test_who_is_dropped_begins_nothing_more(told: Told) -> None:
    told.turn(1, "<result>PASS</result>").done(orders.CLOSE, result="PASS")
    told.hear(jobs.CANCELLED, why="not wanted")
    assert told.asked == ""
    assert told.failed(orders.BEGIN).asked == orders.CLOSE
    assert told.done(orders.CLOSE, result="").asked == orders.FINISH
    told.done(orders.FINISH, ending={"outcome": "dropped", "why": "not wanted", "commit": ""})
    assert told.last.result is not None
    assert told.last.result["outcome"] == "dropped"


def test_a_session_that_will_not_end_is_ended_before_its_run_is_over(told: Told) -> None:
    told.turn(1, "<result>PASS</result>").failed(orders.CLOSE)
    assert told.hear(jobs.CANCELLED, why="no").asked == orders.CLOSE


def test_what_somebody_has_to_mend_is_not_tried_again_and_again() -> None:
    told = Told().hear(jobs.BEGUN)
    assert told.failed(orders.PREPARE, kind="config").asked == orders.FINISH
    told = Told().hear(jobs.BEGUN)
    assert told.failed(orders.PREPARE).asked == ""
    assert told.last.wake_at is not None


def test_who_was_woken_to_answer_did_not_die_of_the_session_before(told: Told) -> None:
    assert told.turn(1, "It used up its turns.").asked == orders.ASK
    told.ends(1)
    assert told.done(orders.ASK, session=2).asked == ""
    assert told.turn(2, "<result>PASS</result>").asked == orders.CLOSE


def test_an_answer_of_the_session_before_counts_though_its_agent_was_woken(told: Told) -> None:
    told.turn(1, "nothing").turn(1, "<result>FAIL</result>").ends(1)
    assert told.done(orders.ASK, session=2).asked == orders.CLOSE
    assert told.state.result == "FAIL"


def test_of_two_turns_while_something_is_under_way_the_later_one_counts(told: Told) -> None:
    told.turn(1, "nothing").turn(1, "still nothing").turn(1, "<result>FAIL</result>").ends(1)
    assert told.done(orders.ASK).asked == orders.CLOSE
    assert told.state.result == "FAIL"
