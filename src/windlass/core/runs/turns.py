"""What a run makes of its agent's turns: a result, another iteration, or a question."""

from __future__ import annotations

from typing import Any, Literal

from msgspec.structs import replace

from windlass.core import jobs
from windlass.core.jobs import Decision, News
from windlass.core.pipeline.steps import PASS, UNKNOWN
from windlass.core.pricing import OF_RUN, OF_STEP
from windlass.core.runs import backend, checklist, last_words, pauses, resume
from windlass.core.runs import loop as loops
from windlass.core.runs.moves import (
    MOST_FAILURES,
    changed,
    do,
    finish,
    fresh_session,
    go_on,
    rest,
)
from windlass.core.runs.run_state import Ending, Heard, RunState

_MODEL_PAUSE = 5.0
"""Seconds until an agent whose model failed is asked to go on; twice as long after each."""
_SAID = ("turn", "failed turn")
"""What is heard of the agent itself."""
_BUDGETS: dict[str, Literal["run budget", "step budget"]] = {
    OF_RUN: "run budget",
    OF_STEP: "step budget",
}
_LOOK_AGAIN = 300.0
"""Seconds until an agent is looked at once more that rested when its time was over."""


def session_begun(state: RunState, result: dict[str, Any], news: News) -> Decision:
    """Waits for what the session comes to."""
    goes_on = state.sessions > 0 and not state.anew
    if result.get("rests") and not goes_on:
        # Its agent was paused between two sessions: this one begins when that is over.
        return _go_on_later(state, news.at)
    loop = state.loop
    if not loop.start:
        loop = replace(loop, start=result.get("tip", ""))
    state = changed(
        state,
        session=result["session"],
        sessions=state.sessions + (not result.get("rests")),
        deaths=0 if result.get("rests") else state.deaths,
        began_at=state.began_at or news.at,
        loop=loop,
        anew=False,
    )
    if not state.until:
        state = changed(state, until=news.at + state.role.timeout)
    return _working(state, news.at)


def _go_on_later(state: RunState, at: float) -> Decision:
    if state.ending is not None:
        return finish(state, state.ending)
    return rest(changed(state, wake_at=at + _LOOK_AGAIN))


def _working(state: RunState, at: float) -> Decision:
    """Judges what was heard while the effect was under way; else waits for the end of a turn."""
    heard, state = state.heard, changed(state, stage="working", heard=None)
    if state.ending is not None:
        return finish(state, state.ending)
    if heard is None or heard.session < state.session:
        return at_work(state)
    return _judge_heard(state, heard, at)


def at_work(state: RunState) -> Decision:
    """Waits for the end of a turn, or of the time that a visit may take."""
    return rest(changed(state, wake_at=state.until))


def looked(state: RunState, result: dict[str, Any], news: News) -> Decision:
    """Who rests, or has rested, has time; who was at work had enough of it."""
    if state.heard is not None or state.ending is not None:
        return _working(state, news.at)
    if result["rests"]:
        state = changed(state, rested=True, until=news.at + _LOOK_AGAIN)
        return _working(state, news.at)
    if state.rested:
        state = changed(state, rested=False, until=news.at + state.role.timeout)
        return _working(state, news.at)
    said = f"It took longer than {state.role.timeout} s, and was ended.\n{state.said}"
    return _cut_off(state, said)


def _cut_off(state: RunState, said: str) -> Decision:
    """Ends a visit that has used up what it may; who decides about one has decided nothing."""
    if state.loop.duty == resume.DUTY:
        return do(changed(state, stage="iterating", said=""))
    return do(changed(state, stage="closing", result=UNKNOWN, said=said))


def asked_again(state: RunState, result: dict[str, Any], news: News) -> Decision:
    """Waits for the answer; who waits for somebody was not asked, and has a turn by itself."""
    if result.get("waits"):
        return _working(state, news.at)
    heard, session = state.heard, result.get("session", 0)
    if heard is not None and heard.what == "session" and heard.session < session:
        state = changed(state, heard=None, session=session)  # it was woken to answer
    return _working(changed(state, asked=state.asked or not state.model_failures), news.at)


def turn_over(state: RunState, news: News) -> Decision:
    """What the agent said last is what the visit came to, or why it is tried again."""
    what: Literal["turn", "failed turn"] = "failed turn" if news.data.get("failed") else "turn"
    said = str(news.data.get("said", ""))
    return _hear(state, Heard(what=what, session=int(news.data["session"]), said=said), news.at)


def session_ended(state: RunState, news: News) -> Decision:
    """A session that ended in the middle of a visit is followed by another one."""
    session, how = int(news.data["session"]), str(news.data["how"])
    return _hear(state, Heard(what="session", session=session, said=how), news.at)


def budget_spent(state: RunState, news: News) -> Decision:
    """A visit that has spent its money is over, and so is a run that has."""
    what = _BUDGETS.get(news.data["budget"])
    if what is None:
        return rest(state)
    session, said = int(news.data["session"]), str(news.data["sentence"])
    return _hear(state, Heard(what=what, session=session, said=said), news.at)


def _hear(state: RunState, heard: Heard, at: float) -> Decision:
    """Judges it at once where nothing is under way for the visit, and else when that is over."""
    if state.stage == "working" and heard.session >= state.session:
        return _judge_heard(state, heard, at)
    begins = state.stage == "beginning" and heard.session > state.session
    may_go_on = state.stage in ("looking", "asking", "iterating")
    if begins or (may_go_on and heard.session >= state.session):
        # What the agent said says most of a session, and that it ended says least.
        known = state.heard if state.heard and state.heard.session == heard.session else None
        if known is not None and _weight(heard) < _weight(known):
            return rest(state)
        return rest(changed(state, heard=heard))
    return rest(state)


def _weight(heard: Heard) -> int:
    return 2 if heard.what in _SAID else int(heard.what != "session")


def _judge_heard(state: RunState, heard: Heard, at: float) -> Decision:
    state = changed(state, session=heard.session)
    if heard.what == "session":
        return _died(state, at, heard.said)
    if heard.what == "failed turn":
        return _model_failed(state, at, heard.said)
    if heard.what == "step budget":
        return _cut_off(state, f"It was ended: {heard.said}\n{state.said}")
    if heard.what == "run budget":
        return finish(state, Ending(outcome="failed", why=heard.said))
    state = changed(state, said=heard.said, deaths=0, model_failures=0, outage="")
    return _judge(state) if state.loop.duty == "work" else _judge_look(state)


def _model_failed(state: RunState, at: float, said: str) -> Decision:
    """Asks the agent to go on after a while; a model that refuses again and again ends the run.

    One that is down ends none: all that ask it wait together.
    """
    if backend.is_outage(said):
        return do(pauses.outage(state, said))
    state = changed(state, stage="asking", model_failures=state.model_failures + 1)
    if state.model_failures >= MOST_FAILURES:
        why = f"the model could not be asked {state.model_failures} times: {said}"
        return resume.stopped(state, why, at)
    pause = jobs.backoff(state.model_failures, first=_MODEL_PAUSE)
    return rest(changed(state, wake_at=at + pause))


def _judge(state: RunState) -> Decision:
    """Closes a visit that gave a result; one that gave none goes round, or is asked once more."""
    role, loop = state.role, state.loop
    result = last_words.result(state.said, role.results)
    is_done = last_words.is_done(state.said)
    if role.mode == "loop":
        loop = replace(loop, ticks=checklist.ticked(state.task, state.said, loop.ticks))
        is_done = is_done or checklist.is_complete(state.task, loop.ticks)
        state = changed(state, loop=loop)
    if not result and is_done and PASS in role.results:
        result = PASS
    if result:
        return do(changed(state, stage="closing", result=result))
    if not loops.is_used_up(loop, role):
        return do(changed(state, stage="iterating"))
    if not state.asked:
        return do(changed(state, stage="asking"))
    return do(changed(state, stage="closing", result=UNKNOWN))


def is_exhausted(state: RunState) -> bool:
    """Whether a visit ended because its loop had no other iteration, and no result was given."""
    is_loop, loop = state.role.mode == "loop", state.loop
    gave_none = state.result == UNKNOWN and state.asked
    return is_loop and gave_none and loop.iteration >= loops.most(state.role)


def _judge_look(state: RunState) -> Decision:
    """Goes on with the loop; a supervisor that gave no answer is asked for it once more."""
    wants = state.loop.duty == "supervisor" and loops.answer(state.said) is None
    wants = wants or (state.loop.duty == resume.DUTY and resume.answer(state.said) is None)
    return do(changed(state, stage="asking" if wants and not state.asked else "iterating"))


def iterated(state: RunState, result: dict[str, Any], news: News) -> Decision:
    """Has the next session of the visit begin; who waits for somebody goes on in the same one."""
    if result.get("waits"):
        return _working(state, news.at)
    if state.loop.duty == resume.DUTY:
        return resume.decided(state, news.at)
    if (heard := state.heard) is not None and heard.what in _BUDGETS.values():
        return _judge_heard(changed(state, heard=None), heard, news.at)
    loop = loops.after(state.loop, state.role, state.said, sums_up=state.sums_up)
    return go_on(changed(fresh_session(state), loop=loop, stage="beginning"))


def _died(state: RunState, at: float, how: str) -> Decision:
    """Begins another session after a while; where one dies after the other, it is given up."""
    state = changed(state, stage="beginning", deaths=state.deaths + 1)
    if state.deaths >= MOST_FAILURES:
        why = f"its session ended {state.deaths} times before its turn did: {how}"
        return resume.stopped(changed(state, session=0), why, at)
    return rest(changed(state, wake_at=at + jobs.backoff(state.deaths)))
