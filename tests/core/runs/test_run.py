"""A run by itself: what follows from each piece of news in each stage."""

from __future__ import annotations

from typing import Any

import pytest

from windlass.core import jobs
from windlass.core.events import AgentEnded, ChangeLanded, ChangeStopped, SessionEnded, TurnOver
from windlass.core.ids import Uid
from windlass.core.jobs import Decision, News
from windlass.core.pipeline import engine
from windlass.core.pipeline.step_roles import StepRole
from windlass.core.pipeline.steps import Pipeline, Step
from windlass.core.runs import run
from windlass.core.runs.run_state import RunState
from windlass.core.runs.task_copy import TaskCopy
from windlass.core.shapes import convert

PIPELINE = Pipeline(name="two", steps=(Step(id="do", agent="worker"), Step(id="see", agent="eye")))
WORKER = StepRole(name="worker", timeout=100)


class Told:
    """One run, and what it hears."""

    def __init__(self, **more: Any) -> None:
        state = RunState(
            task=TaskCopy(id="A-1", title="a"),
            pipeline=PIPELINE,
            place=engine.start(PIPELINE),
            roles={"worker": WORKER},
            **more,
        )
        self.last = Decision(run.begun(state))
        self._number = 0
        self.now = 1000.0

    @property
    def state(self) -> RunState:
        """Where it stands."""
        return convert(self.last.state, RunState)

    @property
    def asked(self) -> str:
        """The effect that it wants now."""
        return self.last.effects[0].what if self.last.effects else ""

    def hear(self, kind: str, *, agent: str | None = None, **data: Any) -> Told:
        """Something happens."""
        self._number += 1
        news = News(
            id=self._number,
            kind=kind,
            data=data,
            at=self.now,
            agent=Uid(agent) if agent else None,
        )
        self.last = run.advance(self.last.state, news)
        return self

    def done(self, what: str, **result: Any) -> Told:
        """An effect is done."""
        return self.hear(jobs.EFFECT, what=what, status="done", result=result)

    def failed(self, what: str, kind: str = "unavailable") -> Told:
        """An effect has failed."""
        error = {"kind": kind, "message": "no"}
        return self.hear(jobs.EFFECT, what=what, status="failed", error=error)

    def turn(self, session: int, said: str = "", **more: Any) -> Told:
        """A turn of its agent ends."""
        return self.hear(TurnOver.kind, agent="u", session=session, said=said, **more)

    def ends(self, session: int) -> Told:
        """A session of its agent ends."""
        return self.hear(SessionEnded.kind, agent="u", session=session, how="with 1")

    def later(self, seconds: float) -> Told:
        """Time passes, and it is woken."""
        self.now += seconds
        return self.hear(jobs.WOKEN)


@pytest.fixture
def told() -> Told:
    """Its agent is there, and the first session runs."""
    told = Told().hear(jobs.BEGUN).done(run.PREPARE, uid="u")
    return told.done(run.BEGIN, session=1, rests=False)


def test_a_visit_goes_from_its_session_to_its_result_and_the_next_step(told: Told) -> None:
    assert told.state.stage == "working"
    assert told.turn(1, "<result>PASS</result>").asked == run.CLOSE
    assert told.done(run.CLOSE, result="PASS").asked == run.BEGIN
    assert (told.state.label, told.state.visits[0].result) == ("see", "PASS")


@pytest.mark.parametrize("early", ["turn", "death", "failed turn"])
def test_what_is_heard_before_the_session_is_known_to_have_begun_counts(early: str) -> None:
    told = Told().hear(jobs.BEGUN).done(run.PREPARE, uid="u")
    if early == "death":
        told.ends(1)
    else:
        told.turn(1, "<result>PASS</result>", failed=early == "failed turn")
    told.done(run.BEGIN, session=1, rests=False)
    wanted = {"turn": "closing", "death": "beginning", "failed turn": "asking"}
    assert told.state.stage == wanted[early]


def test_an_answer_that_is_quicker_than_the_record_of_the_question_counts(told: Told) -> None:
    assert told.turn(1, "nothing").asked == run.ASK
    told.turn(1, "<result>FAIL</result>")
    assert told.done(run.ASK).asked == run.CLOSE
    assert told.state.result == "FAIL"


def test_a_result_that_comes_while_the_agent_is_looked_at_counts(told: Told) -> None:
    assert told.later(200).asked == run.LOOK
    told.turn(1, "<result>PASS</result>")
    assert told.done(run.LOOK, rests=False).asked == run.CLOSE
    assert told.state.result == "PASS"


def test_who_has_rested_has_all_of_its_time_again(told: Told) -> None:
    told.later(200).done(run.LOOK, rests=True)
    told.later(400).done(run.LOOK, rests=False)
    assert told.state.stage == "working"
    assert told.later(50).asked == ""
    told.later(60)
    assert told.done(run.LOOK, rests=False).asked == run.CLOSE
    assert "longer than 100 s" in told.state.said


def test_a_model_that_fails_again_and_again_ends_the_run(told: Told) -> None:
    pauses = []
    for _ in range(run.MOST_FAILURES - 1):
        told.turn(1, "529", failed=True)
        pauses.append((told.last.wake_at or 0.0) - told.now)
        assert told.later(400).asked == run.ASK
        told.done(run.ASK)
    assert pauses == sorted(pauses)
    assert pauses[0] < pauses[-1]
    assert told.turn(1, "529", failed=True).asked == run.CLOSE
    assert told.state.ending is not None
    assert "529" in told.state.ending.why


def test_sessions_that_die_one_after_the_other_end_the_run(told: Told) -> None:
    for session in range(1, run.MOST_FAILURES):
        told.ends(session)
        assert told.later(400).asked == run.BEGIN
        told.done(run.BEGIN, session=session + 1, rests=False)
    told.ends(run.MOST_FAILURES)
    assert told.state.ending is not None
    assert "6 times" in told.state.ending.why


def test_who_is_paused_between_two_visits_begins_the_next_later(told: Told) -> None:
    told.turn(1, "<result>PASS</result>").done(run.CLOSE, result="PASS")
    told.done(run.BEGIN, session=1, rests=True)
    assert told.state.stage == "beginning"
    assert told.later(400).asked == run.BEGIN


def landing(told: Told) -> Told:
    """Both steps have passed, and the change waits."""
    told.turn(1, "<result>PASS</result>").done(run.CLOSE, result="PASS")
    told.done(run.BEGIN, session=2, rests=False).turn(2, "<result>PASS</result>")
    assert told.done(run.CLOSE, result="PASS").asked == run.SUBMIT
    return told


def test_a_change_that_lands_before_it_is_known_to_be_submitted_has_landed(told: Told) -> None:
    landing(told).hear(AgentEnded.kind, agent="u", how="landed", by="windlass", id="a")
    told.done(run.SUBMIT, change="c1", state="landed", commit="abc")
    assert told.asked == run.FINISH
    assert told.state.ending is not None
    assert (told.state.ending.outcome, told.state.ending.commit) == ("landed", "abc")


def test_a_change_that_came_back_and_lands_by_somebodys_hand_has_landed(told: Told) -> None:
    landing(told).done(run.SUBMIT, change="c1", state="queued", commit=None)
    told.hear(ChangeStopped.kind, change="c1", state="rejected", why="red")
    assert told.asked == run.BEGIN
    told.hear(ChangeLanded.kind, change="c1", commit="abc")
    told.done(run.BEGIN, session=3, rests=False)
    assert told.state.ending is not None
    assert told.state.ending.outcome == "landed"


def test_who_is_dropped_begins_nothing_more(told: Told) -> None:
    told.turn(1, "<result>PASS</result>").done(run.CLOSE, result="PASS")
    told.hear(jobs.CANCELLED, why="not wanted")
    assert told.asked == ""
    assert told.failed(run.BEGIN).asked == run.CLOSE
    assert told.done(run.CLOSE, result="").asked == run.FINISH
    told.done(run.FINISH, ending={"outcome": "dropped", "why": "not wanted", "commit": ""})
    assert told.last.result is not None
    assert told.last.result["outcome"] == "dropped"


def test_a_session_that_will_not_end_is_ended_before_its_run_is_over(told: Told) -> None:
    told.turn(1, "<result>PASS</result>").failed(run.CLOSE)
    assert told.hear(jobs.CANCELLED, why="no").asked == run.CLOSE


def test_what_somebody_has_to_mend_is_not_tried_again_and_again() -> None:
    told = Told().hear(jobs.BEGUN)
    assert told.failed(run.PREPARE, kind="config").asked == run.FINISH
    told = Told().hear(jobs.BEGUN)
    assert told.failed(run.PREPARE).asked == ""
    assert told.last.wake_at is not None
