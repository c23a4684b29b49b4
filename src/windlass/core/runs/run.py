"""The job of a run: one task, led through its pipeline, submitted, and marked on the board.

Pure. At each moment it is in one stage: an effect is under way, or it waits for the turn of its
agent, for its change, or for a moment. What fails is tried again after a while, some times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from windlass.core import jobs, shapes
from windlass.core.errors import ConfigError, Denied, NotFound, UserError
from windlass.core.events import AgentEnded, ChangeLanded, ChangeStopped, SessionEnded, TurnOver
from windlass.core.jobs import Decision, Effect, JobKind, News
from windlass.core.pipeline import engine
from windlass.core.pipeline.steps import PASS, UNKNOWN, Step
from windlass.core.runs import last_words
from windlass.core.runs.run_state import Ending, Heard, Outcome, RunState, Stage, Visit, subjects

PREPARE, BEGIN, ASK = "run.prepare", "run.begin", "run.ask"
"""Make the agent and its workspace; begin a session for a visit; ask it for a result, or find that
it waits for somebody."""
LOOK = "run.look"
"""See whether an agent whose time is over is at work, or rests by somebody's word or a limit."""
CLOSE, SUBMIT, FINISH = "run.close", "run.submit", "run.finish"
"""End a visit's session; propose the branch; mark the task, and tell."""
_MODEL_PAUSE = 5.0
"""Seconds until an agent whose model failed is asked to go on; twice as long after each."""
_LOOK_AGAIN = 300.0
"""Seconds until an agent is looked at once more that rested when its time was over."""
MOST_FAILURES = 6
"""Tries of one effect, and sessions of a visit that ended by themselves, before it is given up."""

_EFFECTS: dict[Stage, str] = {
    "preparing": PREPARE,
    "beginning": BEGIN,
    "asking": ASK,
    "looking": LOOK,
    "closing": CLOSE,
    "submitting": SUBMIT,
    "finishing": FINISH,
}
_HOPELESS = frozenset({UserError.kind, ConfigError.kind, Denied.kind, NotFound.kind})
"""What somebody has to mend before it can go otherwise."""
_OPEN = frozenset[Stage]({"beginning", "working", "looking", "asking", "closing"})
"""Stages in which a session may run."""
_CAME_BACK = ("rejected", "conflict")
_GAVE_UP = ("dropped", "nothing-to-land")


def subject(task: str) -> str:
    """What a run is about. The same task in another case is the same task."""
    return f"task:{task.upper()}"


def begun(state: RunState) -> dict[str, Any]:
    """The state of a new job as it is kept."""
    kept: dict[str, Any] = msgspec.to_builtins(state)
    return kept


def advance(data: dict[str, Any], news: News) -> Decision:
    """Takes in one thing that happened to the run, to its agent or to its change."""
    state = shapes.convert(data, RunState)
    hear = _HEARD.get(news.kind)
    return hear(state, news) if hear is not None else _rest(state)


def _begun(state: RunState, _: News) -> Decision:
    return _do(state)


def _effect(state: RunState, news: News) -> Decision:
    if not state.at_work or news.data["what"] != _EFFECTS[state.stage]:
        return _rest(state)
    return _effect_over(_with(state, at_work=False), news)


def _woken(state: RunState, news: News) -> Decision:
    """The moment to try once more has come, or the time of a visit is over."""
    if state.stage == "working":
        is_over = news.at >= state.until
        return _do(_with(state, stage="looking")) if is_over else _at_work(state)
    if state.at_work or state.stage not in _EFFECTS:
        return _rest(_with(state, wake_at=None))
    return _do(state)


def _with(state: RunState, **changes: Any) -> RunState:
    return msgspec.structs.replace(state, **changes)


def _rest(state: RunState) -> Decision:
    return Decision(begun(state), wake_at=state.wake_at)


def _do(state: RunState) -> Decision:
    """Does what the stage is about; it goes on when that is over."""
    state = _with(state, at_work=True, wake_at=None)
    return Decision(begun(state), (Effect(_EFFECTS[state.stage], _order(state)),))


def _order(state: RunState) -> dict[str, Any]:
    """What an effect has to know of the run, as it was decided."""
    order: dict[str, Any] = {"uid": state.uid, "task": state.task.id}
    runs = engine.running(state.pipeline, state.place)
    if runs is not None:
        order |= {
            "label": state.label,
            "step": runs.id,
            "role": state.role.name,
            "visit": state.visit,
            "readonly": state.role.readonly or (isinstance(runs, Step) and runs.readonly),
            "results": state.role.results,
        }
    match state.stage:
        case "preparing":
            order |= {
                "copy": msgspec.to_builtins(state.task),
                "role": state.role_of(state.pipeline.steps[0].agent),
            }
            order |= {"driver": state.driver, "mode": state.mode}
        case "beginning":
            order |= {"change": state.change if state.ticket else ""}
            order |= {"again": state.sessions > 0, "began_at": state.began_at}
        case "asking":
            order |= {"asks": "model" if state.model_failures else "more"}
            if not state.model_failures and state.iterations >= _rounds(state):
                order["asks"] = "result"
        case "closing":
            order |= {"said": state.said, "result": state.result, "commits": _commits(state)}
            order |= {"session": state.session, "began_at": state.began_at}
            if state.ending is not None:
                order["result"] = ""
        case "submitting":
            order |= {"title": state.task.title, "again": bool(state.change)}
        case "finishing":
            order |= {"ending": msgspec.to_builtins(state.ending), "change": state.change}
    return order


def _commits(state: RunState) -> bool:
    """Whether what the step left is committed: the pipeline says so, or nobody would keep it.

    A step that only looks is taken back to what it found, and what lands is what is committed.
    """
    runs = engine.running(state.pipeline, state.place)
    if isinstance(runs, Step) and runs.commit_after:
        return True
    if state.ending is not None or not state.result:
        return False
    after = engine.advance(state.pipeline, state.place, state.result)
    following = engine.running(state.pipeline, after)
    if following is None:
        return after.outcome == "success"
    known = state.roles.get(state.role_of(following.agent))
    looks = known is not None and known.readonly
    return looks or (isinstance(following, Step) and following.readonly)


def _effect_over(state: RunState, news: News) -> Decision:
    status, result = news.data["status"], news.data.get("result") or {}
    if status != "done":
        return _failed(state, news, _why(news.data))
    return _ENDS[state.stage](_with(state, failures=0), result, news)


def _why(effect: dict[str, Any]) -> str:
    error = effect.get("error") or {}
    return str(error.get("message") or f"{effect['what']} failed")


def _failed(state: RunState, news: News, why: str) -> Decision:
    """Tries once more after a while; after some tries, or where nobody may try, it is over."""
    if state.gone and state.stage != "finishing":
        return _do(_with(state, stage="finishing", failures=0))
    if state.ending is not None and state.stage not in ("closing", "finishing"):
        return _finish(state, state.ending)
    failures = state.failures + 1
    final = news.kind == jobs.EFFECT and _is_final(news.data)
    state = _with(state, failures=failures)
    if state.stage == "finishing" or (failures < MOST_FAILURES and not final):
        return _rest(_with(state, wake_at=news.at + jobs.backoff(failures)))
    ending = state.ending or Ending(outcome="failed", why=why)
    if state.stage == "closing":
        return _do(_with(state, stage="finishing", ending=ending, failures=0))
    return _finish(state, ending)


def _is_final(effect: dict[str, Any]) -> bool:
    """Whether nothing comes of trying an effect once more."""
    kind = (effect.get("error") or {}).get("kind", "")
    return effect["status"] in ("set aside", "halted") or kind in _HOPELESS


def _finish(state: RunState, ending: Ending) -> Decision:
    """Ends the run: what runs for it is closed before, and then it is told."""
    is_open = not state.gone and state.stage in _OPEN and state.session > 0
    if state.beside and state.beside not in ending.why:
        why = "; ".join(said for said in (ending.why, state.beside) if said)
        ending = msgspec.structs.replace(ending, why=why)
    state = _with(state, ending=ending, failures=0)
    return _do(_with(state, stage="closing" if is_open else "finishing"))


def _cancelled(state: RunState, news: News) -> Decision:
    ending = Ending(outcome="dropped", why=news.data["why"])
    if state.at_work:
        return _rest(_with(state, ending=state.ending or ending))
    return _finish(state, state.ending or ending)


def _agent_ended(state: RunState, news: News) -> Decision:
    """Without its agent a run is over, unless that has landed what it had."""
    if state.stage in ("landing", "finishing") or state.ending is not None:
        return _rest(state)
    why = f"its agent was ended ({news.data['how']} by {news.data['by']})"
    state = _with(state, gone=True)
    if state.stage == "submitting":
        return _rest(state)  # what it has may have landed already: the effect says so
    state = _with(state, ending=Ending(outcome="failed", why=why))
    return _rest(state) if state.at_work else _do(_with(state, stage="finishing"))


def _prepared(state: RunState, result: dict[str, Any], news: News) -> Decision:
    if why := result.get("dropped", ""):
        return _finish(state, state.ending or Ending(outcome="dropped", why=why))
    state = _with(state, uid=result["uid"], stage="beginning", began_at=news.at)
    return _go_on(state)


def _go_on(state: RunState) -> Decision:
    """Does the next thing, unless somebody has ended the run meanwhile."""
    return _finish(state, state.ending) if state.ending is not None else _do(state)


def _session_begun(state: RunState, result: dict[str, Any], news: News) -> Decision:
    if result.get("rests") and not state.sessions:
        # Its agent was paused between two visits: this one begins when that is over.
        return _go_on_later(state, news.at)
    state = _with(
        state,
        session=result["session"],
        sessions=state.sessions + (not result.get("rests")),
        deaths=0 if result.get("rests") else state.deaths,
        began_at=state.began_at or news.at,
    )
    if not state.until:
        state = _with(state, until=news.at + state.role.timeout)
    return _working(state, news.at)


def _go_on_later(state: RunState, at: float) -> Decision:
    if state.ending is not None:
        return _finish(state, state.ending)
    return _rest(_with(state, wake_at=at + _LOOK_AGAIN))


def _working(state: RunState, at: float) -> Decision:
    """Judges what was heard while the effect was under way; else waits for the end of a turn."""
    heard, state = state.heard, _with(state, stage="working", heard=None)
    if state.ending is not None:
        return _finish(state, state.ending)
    if heard is None or heard.session < state.session:
        return _at_work(state)
    return _judge_heard(state, heard, at)


def _at_work(state: RunState) -> Decision:
    """Waits for the end of a turn, or of the time that a visit may take."""
    return _rest(_with(state, wake_at=state.until))


def _looked(state: RunState, result: dict[str, Any], news: News) -> Decision:
    """Who rests, or has rested, has time; who was at work had enough of it."""
    if state.heard is not None or state.ending is not None:
        return _working(state, news.at)
    if result["rests"]:
        state = _with(state, rested=True, until=news.at + _LOOK_AGAIN)
        return _working(state, news.at)
    if state.rested:
        state = _with(state, rested=False, until=news.at + state.role.timeout)
        return _working(state, news.at)
    said = f"It took longer than {state.role.timeout} s, and was ended.\n{state.said}"
    return _do(_with(state, stage="closing", result=UNKNOWN, said=said))


def _asked_again(state: RunState, result: dict[str, Any], news: News) -> Decision:
    if result.get("waits"):
        # What it waits for begins its next turn: this one has not counted.
        return _working(_with(state, iterations=state.iterations - 1), news.at)
    asked = not state.model_failures and state.iterations >= _rounds(state)
    return _working(_with(state, asked=asked), news.at)


def _turn_over(state: RunState, news: News) -> Decision:
    """What the agent said last is what the visit came to, or why it is tried again."""
    what: Literal["turn", "failed turn"] = "failed turn" if news.data.get("failed") else "turn"
    said = str(news.data.get("said", ""))
    return _hear(state, Heard(what=what, session=int(news.data["session"]), said=said), news.at)


def _session_ended(state: RunState, news: News) -> Decision:
    """A session that ended in the middle of a visit is followed by another one."""
    session, how = int(news.data["session"]), str(news.data["how"])
    return _hear(state, Heard(what="session", session=session, said=how), news.at)


def _hear(state: RunState, heard: Heard, at: float) -> Decision:
    """Judges it at once where nothing is under way for the visit, and else when that is over."""
    if state.stage == "working" and heard.session >= state.session:
        return _judge_heard(state, heard, at)
    begins = state.stage == "beginning" and heard.session > state.session
    if begins or (state.stage in ("looking", "asking") and heard.session >= state.session):
        # That a session ended says less than what its agent said before.
        known = state.heard
        if heard.what == "session" and known is not None and known.session == heard.session:
            return _rest(state)
        return _rest(_with(state, heard=heard))
    return _rest(state)


def _judge_heard(state: RunState, heard: Heard, at: float) -> Decision:
    state = _with(state, session=heard.session)
    if heard.what == "session":
        return _died(state, at, heard.said)
    if heard.what == "failed turn":
        return _model_failed(state, at, heard.said)
    return _judge(_with(state, said=heard.said, deaths=0, model_failures=0))


def _model_failed(state: RunState, at: float, said: str) -> Decision:
    """Asks the agent to go on after a while; a model that fails again and again ends the run."""
    state = _with(state, stage="asking", model_failures=state.model_failures + 1)
    if state.model_failures >= MOST_FAILURES:
        why = f"the model could not be asked {state.model_failures} times: {said}"
        return _finish(state, state.ending or Ending(outcome="failed", why=why))
    pause = jobs.backoff(state.model_failures, first=_MODEL_PAUSE)
    return _rest(_with(state, wake_at=at + pause))


def _judge(state: RunState) -> Decision:
    """Closes a visit that gave a result; one that gave none goes on, or is asked once more."""
    result = last_words.result(state.said, state.role.results)
    if not result and last_words.is_done(state.said) and PASS in state.role.results:
        result = PASS
    if result:
        return _do(_with(state, stage="closing", result=result))
    state = _with(state, iterations=state.iterations + 1)
    if state.iterations < _rounds(state) or not state.asked:
        return _do(_with(state, stage="asking"))
    return _do(_with(state, stage="closing", result=UNKNOWN))


def _rounds(state: RunState) -> int:
    """How often a visit goes round without having said that it is done."""
    return state.role.iterations if state.role.mode == "loop" else 1


def _died(state: RunState, at: float, how: str) -> Decision:
    """Begins another session after a while; where one dies after the other, it is given up."""
    state = _with(state, stage="beginning", deaths=state.deaths + 1)
    if state.deaths >= MOST_FAILURES:
        why = f"its session ended {state.deaths} times before its turn did: {how}"
        return _finish(_with(state, session=0), state.ending or Ending(outcome="failed", why=why))
    return _rest(_with(state, wake_at=at + jobs.backoff(state.deaths)))


def _closed(state: RunState, _: dict[str, Any], news: News) -> Decision:
    """The visit counts, and the pipeline says what is next."""
    if state.ending is not None:
        return _do(_with(state, stage="finishing"))
    runs = engine.running(state.pipeline, state.place)
    if runs is None:
        return _finish(state, Ending(outcome="failed", why="no step runs"))
    visit = Visit(
        label=state.label,
        number=state.visit,
        role=state.role.name,
        result=state.result,
        seconds=round(max(0.0, news.at - state.began_at), 3),
        sessions=state.sessions,
        iterations=max(1, min(state.iterations + (state.result != UNKNOWN), _rounds(state))),
    )
    place = engine.advance(state.pipeline, state.place, state.result)
    state = _fresh_visit(_with(state, visits=(*state.visits, visit), place=place), news.at)
    if place.outcome == "abort":
        return _finish(_with(state, session=0), Ending(outcome="failed", why=place.reason))
    if place.outcome == "success":
        return _do(_with(state, stage="submitting"))
    return _do(_with(state, stage="beginning"))


def _fresh_visit(state: RunState, at: float) -> RunState:
    return _with(
        state,
        said="",
        result="",
        asked=False,
        iterations=0,
        deaths=0,
        wake_at=None,
        until=0.0,
        sessions=0,
        heard=None,
        model_failures=0,
        rested=False,
        failures=0,
        began_at=at,
    )


def _submitted(state: RunState, result: dict[str, Any], news: News) -> Decision:
    """From here the queue has it; what is decided already is not waited for."""
    state, where = _with(state, change=result["change"], stage="landing"), result["state"]
    state = _with(state, beside=result.get("beside", ""))
    if where == "landed":
        return _finish(state, Ending(outcome="landed", commit=result.get("commit") or ""))
    if state.ending is not None:
        return _finish(state, state.ending)
    if where in (*_CAME_BACK, *_GAVE_UP):
        return _back(state, where, result.get("why", ""), result.get("ticket", ""), news.at)
    return _rest(state)


def _change_over(state: RunState, news: News) -> Decision:
    if news.kind == ChangeLanded.kind and state.stage != "finishing":
        landed = Ending(outcome="landed", commit=news.data["commit"])
        if state.at_work:
            return _rest(_with(state, ending=landed))
        return _finish(state, landed)
    if state.stage != "landing":
        return _rest(state)
    return _back(state, news.data["state"], news.data["why"], news.data["why"], news.at)


def _back(state: RunState, where: str, why: str, ticket: str, at: float) -> Decision:
    """What came back goes on where the pipeline says, some times; what is held waits."""
    if where in _GAVE_UP:
        outcome: Outcome = "dropped" if where == "dropped" else "failed"
        said = why
        if where == "nothing-to-land":
            said = f"its steps passed and changed nothing ({why}): if that is right, mark it [x]"
        return _finish(state, Ending(outcome=outcome, why=said))
    if where not in _CAME_BACK:
        return _rest(state)
    state = _with(state, attempts=state.attempts + 1)
    if state.attempts >= state.most_attempts:
        times = f"its change came back {state.attempts} times: {why}"
        return _finish(state, Ending(outcome="failed", why=times))
    place = engine.reject(state.pipeline, state.place)
    state = _fresh_visit(_with(state, place=place, ticket=ticket or why), at)
    return _do(_with(state, stage="beginning"))


def _finished(state: RunState, result: dict[str, Any], _: News) -> Decision:
    ending = state.ending or Ending(outcome="failed")
    if "ending" in result:
        ending = shapes.convert(result["ending"], Ending)
    over = {"outcome": ending.outcome, "why": ending.why, "commit": ending.commit}
    return Decision(begun(state), result={**over, "task": state.task.id, "change": state.change})


_ENDS: dict[Stage, Callable[[RunState, dict[str, Any], News], Decision]] = {
    "preparing": _prepared,
    "beginning": _session_begun,
    "asking": _asked_again,
    "looking": _looked,
    "closing": _closed,
    "submitting": _submitted,
    "finishing": _finished,
}

_OF_OTHERS: dict[str, Callable[[RunState, News], Decision]] = {
    TurnOver.kind: _turn_over,
    SessionEnded.kind: _session_ended,
    AgentEnded.kind: _agent_ended,
    ChangeLanded.kind: _change_over,
    ChangeStopped.kind: _change_over,
}
_HEARD: dict[str, Callable[[RunState, News], Decision]] = {
    jobs.BEGUN: _begun,
    jobs.CANCELLED: _cancelled,
    jobs.EFFECT: _effect,
    jobs.WOKEN: _woken,
    **_OF_OTHERS,
}

KIND = JobKind("run", advance, frozenset(_OF_OTHERS), subjects)
