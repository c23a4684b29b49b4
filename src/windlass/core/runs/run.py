"""The job of a run: one task, led through its pipeline, submitted, and marked on the board.

Pure. At each moment it is in one stage: an effect is under way, or it waits for the turn of its
agent, for its change, or for a moment. What fails is tried again after a while, some times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from windlass.core import jobs, shapes
from windlass.core.errors import ConfigError, Denied, NotFound, UserError
from windlass.core.events import (
    AgentEnded,
    BudgetExceeded,
    ChangeLanded,
    ChangeStopped,
    SessionEnded,
    TurnOver,
)
from windlass.core.jobs import Decision, JobKind, News
from windlass.core.pipeline import engine
from windlass.core.pipeline.steps import PASS, UNKNOWN
from windlass.core.runs import last_words, moves, orders, pauses, resume, turns
from windlass.core.runs.moves import MOST_FAILURES, changed, do, finish, fresh_visit, go_on, rest
from windlass.core.runs.run_state import Ending, Outcome, RunState, Stage, Visit, subjects

_HOPELESS = frozenset({UserError.kind, ConfigError.kind, Denied.kind, NotFound.kind})
"""What somebody has to mend before it can go otherwise."""
_CAME_BACK = ("rejected", "conflict")
_GAVE_UP = ("dropped", "nothing-to-land")


def subject(task: str) -> str:
    """What a run is about. The same task in another case is the same task."""
    return f"task:{task.upper()}"


def advance(data: dict[str, Any], news: News) -> Decision:
    """Takes in one thing that happened to the run, to its agent or to its change."""
    state = shapes.convert(data, RunState)
    hear = _HEARD.get(news.kind)
    return hear(state, news) if hear is not None else rest(state)


def _begun(state: RunState, _: News) -> Decision:
    return do(state)


def _effect(state: RunState, news: News) -> Decision:
    if not state.at_work or news.data["what"] != orders.EFFECTS[state.stage]:
        return rest(state)
    return _effect_over(changed(state, at_work=False), news)


def _woken(state: RunState, news: News) -> Decision:
    """The moment to try once more has come, or the time of a visit is over."""
    if state.stage == "working":
        is_over = news.at >= state.until
        return do(changed(state, stage="looking")) if is_over else turns.at_work(state)
    if state.at_work or state.stage not in orders.EFFECTS:
        return rest(changed(state, wake_at=None))
    return do(state)


def _effect_over(state: RunState, news: News) -> Decision:
    status, result = news.data["status"], news.data.get("result") or {}
    if status != "done":
        return _failed(state, news, _why(news.data))
    if (paused := pauses.told(state, result)) is not None:
        return rest(paused) if paused.ending is None else finish(paused, paused.ending)
    state = pauses.over(changed(state, failures=0), news.at)
    return _ENDS[state.stage](state, result, news)


def _why(effect: dict[str, Any]) -> str:
    error = effect.get("error") or {}
    return str(error.get("message") or f"{effect['what']} failed")


def _failed(state: RunState, news: News, why: str) -> Decision:
    """Tries once more after a while; after some tries, or where nobody may try, it is over."""
    if state.gone and state.stage != "finishing":
        return do(changed(state, stage="finishing", failures=0))
    if state.ending is not None and state.stage not in ("closing", "finishing"):
        return finish(state, state.ending)
    failures = state.failures + 1
    final = news.kind == jobs.EFFECT and _is_final(news.data)
    state = changed(state, failures=failures)
    if state.stage == "finishing" or (failures < MOST_FAILURES and not final):
        return rest(changed(state, wake_at=news.at + jobs.backoff(failures)))
    ending = state.ending or Ending(outcome="failed", why=why)
    if state.stage == "closing":
        return do(changed(state, stage="finishing", ending=ending, failures=0))
    return finish(state, ending)


def _is_final(effect: dict[str, Any]) -> bool:
    """Whether nothing comes of trying an effect once more."""
    kind = (effect.get("error") or {}).get("kind", "")
    return effect["status"] in ("set aside", "halted") or kind in _HOPELESS


def _cancelled(state: RunState, news: News) -> Decision:
    ending = Ending(outcome="dropped", why=news.data["why"])
    if state.at_work:
        return rest(changed(state, ending=state.ending or ending))
    return finish(state, state.ending or ending)


def _agent_ended(state: RunState, news: News) -> Decision:
    """Without its agent a run is over, unless that has landed what it had."""
    if state.stage in ("landing", "finishing") or state.ending is not None:
        return rest(state)
    why = f"its agent was ended ({news.data['how']} by {news.data['by']})"
    state = changed(state, gone=True)
    if state.stage == "submitting":
        return rest(state)  # what it has may have landed already: the effect says so
    state = changed(state, ending=Ending(outcome="failed", why=why))
    return rest(state) if state.at_work else do(changed(state, stage="finishing"))


def _prepared(state: RunState, result: dict[str, Any], news: News) -> Decision:
    if why := result.get("dropped", ""):
        return finish(state, state.ending or Ending(outcome="dropped", why=why))
    state = changed(state, uid=result["uid"], stage="beginning", began_at=news.at)
    return go_on(state)


def _closed(state: RunState, _: dict[str, Any], news: News) -> Decision:
    """The visit counts, and the pipeline says what is next."""
    if state.ending is not None:
        return do(changed(state, stage="finishing"))
    runs = engine.running(state.pipeline, state.place)
    if runs is None:
        return finish(state, Ending(outcome="failed", why="no step runs"))
    is_exhausted = turns.is_exhausted(state)
    meaning = engine.meaning(state.pipeline, state.place, state.result)
    visit = Visit(
        label=state.label,
        number=state.visit,
        role=state.role.name,
        result=state.result,
        seconds=round(max(0.0, news.at - state.began_at), 3),
        sessions=state.sessions,
        iterations=state.loop.iteration,
        exhausted=is_exhausted,
        status=meaning.status,
        exit_code=meaning.exit_code,
    )
    before, start, said = state.place, state.loop.start, state.said
    place = engine.advance(state.pipeline, state.place, state.result)
    state = fresh_visit(changed(state, visits=(*state.visits, visit), place=place), news.at)
    if place.outcome == "abort":
        used_up = f"{visit.label} used up its {visit.iterations} iterations without a result; "
        why = used_up * is_exhausted + place.reason + last_words.reason(said)
        if visit.result == UNKNOWN:
            stopped = changed(state, place=before, session=0)
            return resume.stopped(stopped, why, news.at, start=start)
        return finish(changed(state, session=0), Ending(outcome="failed", why=why))
    if place.outcome == "success" and state.only_plans:
        planned, none = Ending(outcome="planned"), f"its agent gave {visit.result}, and no plan"
        ending = planned if visit.result == PASS else Ending(outcome="failed", why=none)
        return finish(changed(state, session=0), ending)
    if place.outcome == "success":
        return do(changed(state, stage="submitting"))
    return do(changed(state, stage="beginning"))


def _submitted(state: RunState, result: dict[str, Any], news: News) -> Decision:
    """From here the queue has it; what is decided already is not waited for."""
    state, where = changed(state, change=result["change"], stage="landing"), result["state"]
    state = changed(state, beside=result.get("beside", ""))
    if where == "landed":
        return finish(state, Ending(outcome="landed", commit=result.get("commit") or ""))
    if state.ending is not None:
        return finish(state, state.ending)
    if where in (*_CAME_BACK, *_GAVE_UP):
        return _back(state, where, result.get("why", ""), result.get("ticket", ""), news.at)
    return rest(state)


def _change_over(state: RunState, news: News) -> Decision:
    if news.kind == ChangeLanded.kind and state.stage != "finishing":
        landed = Ending(outcome="landed", commit=news.data["commit"])
        if state.at_work:
            return rest(changed(state, ending=landed))
        return finish(state, landed)
    if state.stage != "landing":
        return rest(state)
    return _back(state, news.data["state"], news.data["why"], news.data["why"], news.at)


def _back(state: RunState, where: str, why: str, ticket: str, at: float) -> Decision:
    """What came back goes on where the pipeline says, some times; what is held waits."""
    if where in _GAVE_UP:
        outcome: Outcome = "dropped" if where == "dropped" else "failed"
        said = why
        if where == "nothing-to-land":
            said = f"its steps passed and changed nothing ({why}): if that is right, mark it [x]"
        return finish(state, Ending(outcome=outcome, why=said))
    if where not in _CAME_BACK:
        return rest(state)
    state = changed(state, attempts=state.attempts + 1)
    if state.attempts >= state.most_attempts:
        times = f"its change came back {state.attempts} times: {why}"
        return finish(state, Ending(outcome="failed", why=times))
    place = engine.reject(state.pipeline, state.place)
    state = fresh_visit(changed(state, place=place, ticket=ticket or why), at)
    return do(changed(state, stage="beginning"))


def _finished(state: RunState, result: dict[str, Any], _: News) -> Decision:
    ending = state.ending or Ending(outcome="failed")
    if "ending" in result:
        ending = shapes.convert(result["ending"], Ending)
    over = {"outcome": ending.outcome, "why": ending.why, "commit": ending.commit}
    told = {**over, "task": state.task.id, "change": result.get("change") or state.change}
    if state.only_plans:
        told["plan"] = result.get("plan", "")
    return Decision(moves.begun(state), result=told)


_ENDS: dict[Stage, Callable[[RunState, dict[str, Any], News], Decision]] = {
    "preparing": _prepared,
    "beginning": turns.session_begun,
    "asking": turns.asked_again,
    "looking": turns.looked,
    "iterating": turns.iterated,
    "closing": _closed,
    "submitting": _submitted,
    "finishing": _finished,
}

_OF_OTHERS: dict[str, Callable[[RunState, News], Decision]] = {
    TurnOver.kind: turns.turn_over,
    SessionEnded.kind: turns.session_ended,
    AgentEnded.kind: _agent_ended,
    BudgetExceeded.kind: turns.budget_spent,
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
