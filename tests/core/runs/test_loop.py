"""A visit in iterations: what each knows of the ones before, who looks at it, and how it ends."""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.runs.told import Told

from windlass.core.events import BudgetExceeded
from windlass.core.pipeline.step_roles import StepRole
from windlass.core.pipeline.steps import Pipeline, Step
from windlass.core.runs import orders
from windlass.core.runs.task_copy import TaskCopy

LEFT = "<report>half of it</report>"
PASSED = "<result>PASS</result>"
TASK = TaskCopy(id="A-1", title="a", scope=("write more.py", "test it"), criteria=("it adds",))


def looping(*, sums_up: bool = False, **role: Any) -> Told:
    """The first session of a step that loops runs."""
    told = Told(
        task=TASK,
        pipeline=Pipeline(name="one", steps=(Step(id="do", agent="worker"),)),
        roles={"worker": StepRole(name="worker", **{"mode": "loop", "iterations": 3, **role})},
        sums_up=sums_up,
    )
    told.hear("job.begun").done(orders.PREPARE, uid="u")
    return begun(told, 1)


def begun(told: Told, session: int) -> Told:
    """A session begins."""
    assert told.asked == orders.BEGIN
    return told.done(orders.BEGIN, session=session, rests=False, tip="t0")


def ended(told: Told, said: str) -> Told:
    """The session that runs ends with these words, and the next of the visit begins."""
    session = told.state.session
    assert told.turn(session, said).asked == orders.ITERATE
    return begun(told.done(orders.ITERATE, waits=False), session + 1)


def test_what_is_not_done_goes_on_in_a_conversation_of_its_own_that_knows_the_report() -> None:
    told = looping()
    assert told.turn(1, LEFT).asked == orders.ITERATE
    assert not told.order["commits"]
    told.done(orders.ITERATE, waits=False)
    assert not told.order["again"]
    loop = told.order["loop"]
    assert (loop["iteration"], loop["duty"], loop["summary"]) == (2, "work", "half of it")
    assert begun(told, 2).turn(2, PASSED).asked == orders.CLOSE
    told.done(orders.CLOSE, result="PASS")
    assert (told.state.visits[0].iterations, told.state.visits[0].sessions) == (2, 2)


@pytest.mark.parametrize(
    "said",
    [
        "All is there.\nDONE",
        "- [x] write more.py\n- [x] test it\n- [X] it  adds",
    ],
)
def test_who_is_done_says_so_on_the_last_line_or_by_ticking_everything(said: str) -> None:
    told = looping().turn(1, said)
    assert (told.asked, told.state.result) == (orders.CLOSE, "PASS")


def test_what_is_ticked_stays_so_in_later_iterations() -> None:
    told = ended(looping(), "- [x] write more.py\n- [x] nothing of the task")
    assert told.state.loop.ticks == ("write more.py",)
    told = ended(told, "nothing new")
    assert told.turn(3, "- [x] it adds\n* [x] test it").state.result == "PASS"


def test_a_checklist_says_nothing_about_a_step_that_does_not_loop() -> None:
    told = looping(mode="once").turn(1, "- [x] write more.py\n- [x] test it\n- [x] it adds")
    assert told.asked == orders.ASK


def test_iterations_that_are_used_up_end_the_visit_and_the_outcome_says_so() -> None:
    told = ended(ended(looping(), LEFT), LEFT)
    assert told.turn(3, LEFT).asked == orders.ASK
    assert told.order["asks"] == "result"
    told.done(orders.ASK).turn(3, LEFT).done(orders.CLOSE, result="UNKNOWN")
    assert told.state.visits[0].exhausted
    assert told.state.ending is not None
    assert "used up its 3 iterations" in told.state.ending.why


def test_who_gives_a_result_when_asked_in_the_last_iteration_has_not_used_them_up() -> None:
    told = looping(iterations=1)
    told.turn(1, LEFT).done(orders.ASK).turn(1, "<result>FAIL</result>")
    told.done(orders.CLOSE, result="FAIL")
    assert not told.state.visits[0].exhausted


def test_a_role_of_the_repository_sums_up_what_an_iteration_did() -> None:
    """It only looks, so what is left is committed before."""
    told = looping(sums_up=True)
    assert told.turn(1, LEFT).asked == orders.ITERATE
    assert told.order["commits"]
    begun(told.done(orders.ITERATE, waits=False), 2)
    assert told.state.loop.duty == "summary"
    assert told.turn(2, "<report>shorter</report>").asked == orders.ITERATE
    assert (told.order["role"], told.order["readonly"]) == ("task-summarizer", True)
    begun(told.done(orders.ITERATE, waits=False), 3)
    assert (told.state.loop.iteration, told.state.loop.summary) == (2, "shorter")


def supervised(answer: str, **role: Any) -> Told:
    """The first iteration is over, and its supervisor has answered."""
    told = ended(looping(supervisor_interval=1, **role), "- [x] test it\n" + LEFT)
    assert told.state.loop.duty == "supervisor"
    report = "<report>mind the gap</report>"
    assert told.turn(2, f"{report}<result>{answer}</result>").asked == orders.ITERATE
    return told


def test_a_supervisor_that_says_continue_is_heard_by_the_next_iteration() -> None:
    told = supervised("CONTINUE")
    assert (told.order["role"], told.order["back_to"]) == ("loop-supervisor", "")
    begun(told.done(orders.ITERATE, waits=False), 3)
    loop = told.state.loop
    assert (loop.iteration, loop.feedback, loop.summary) == (2, "mind the gap", loop.summary)
    assert "half of it" in loop.summary


def test_a_supervisor_that_says_stop_has_the_agent_say_what_came_of_it() -> None:
    told = begun(supervised("STOP").done(orders.ITERATE, waits=False), 3)
    assert told.state.loop.is_last
    assert told.turn(3, LEFT).asked == orders.ASK
    told.done(orders.ASK).turn(3, LEFT).done(orders.CLOSE, result="UNKNOWN")
    assert not told.state.visits[0].exhausted


def test_a_supervisor_that_says_restart_has_everything_begin_anew_but_its_feedback() -> None:
    told = supervised("RESTART")
    assert told.order["back_to"] == "t0"
    begun(told.done(orders.ITERATE, waits=False), 3)
    loop = told.state.loop
    assert (loop.iteration, loop.ticks, loop.summary) == (2, (), "")
    assert loop.feedback == "mind the gap"


def test_a_supervisor_without_an_answer_is_asked_once_more_and_changes_nothing_then() -> None:
    told = ended(looping(supervisor_interval=1), LEFT)
    assert told.turn(2, "<result>PASS</result>").asked == orders.ASK
    assert told.order["asks"] == "answer"
    told.done(orders.ASK)
    assert told.turn(2, "I do not know.").asked == orders.ITERATE
    assert told.order["back_to"] == ""
    begun(told.done(orders.ITERATE, waits=False), 3)
    assert (told.state.loop.iteration, told.state.loop.duty) == (2, "work")


def test_a_supervisor_looks_after_every_so_many_iterations() -> None:
    told = looping(iterations=5, supervisor_interval=2)
    duties = []
    for _ in range(5):
        told = ended(told, f"{LEFT}<result>CONTINUE</result>")
        duties.append((told.state.loop.iteration, told.state.loop.duty))
    assert duties == [(2, "work"), (2, "supervisor"), (3, "work"), (4, "work"), (4, "supervisor")]


def test_a_session_of_a_later_iteration_that_dies_goes_on_in_its_conversation() -> None:
    told = ended(looping(), LEFT)
    assert told.ends(2).asked == ""
    assert told.later(400).asked == orders.BEGIN
    assert told.order["again"]
    assert told.order["loop"]["iteration"] == 2


def test_who_is_dropped_while_an_iteration_ends_begins_no_other() -> None:
    told = looping()
    told.turn(1, LEFT).hear("job.cancelled", why="no")
    assert told.done(orders.ITERATE, waits=False).asked == orders.CLOSE


def test_the_pipeline_says_more_of_a_role_at_one_step() -> None:
    told = Told(
        pipeline=Pipeline(name="one", steps=(Step(id="do", agent="worker"),)),
        at_steps={"do": StepRole(name="worker", mode="loop", iterations=2, turns=7, model="m")},
    )
    told.hear("job.begun").done(orders.PREPARE, uid="u")
    assert (told.order["iterations"], told.order["turns"], told.order["model"]) == (2, 7, "m")


def test_an_iteration_that_waits_for_an_answer_is_not_over() -> None:
    told = looping()
    assert told.turn(1, "Which colour?\n\nWAITING").asked == orders.ITERATE
    told.done(orders.ITERATE, waits=True)
    assert (told.state.stage, told.state.loop.iteration) == ("working", 1)
    assert told.turn(1, PASSED).asked == orders.CLOSE


def test_money_that_is_spent_while_an_iteration_ends_ends_the_visit() -> None:
    """What a session has cost is known once it is over."""
    told = looping().turn(1, LEFT).ends(1)
    spent = {"budget": "budget.step", "sentence": "this visit has cost 2.00 of 1.00 USD"}
    told.hear(BudgetExceeded.kind, agent="u", session=1, hint="", **spent)
    assert told.done(orders.ITERATE, waits=False).asked == orders.CLOSE
    assert told.state.result == "UNKNOWN"
    assert "2.00 of 1.00 USD" in told.state.said
