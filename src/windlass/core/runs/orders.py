"""The effects of a run: what each is called, and what it has to know of the run."""

from __future__ import annotations

from typing import Any

import msgspec

from windlass.core.pipeline import engine
from windlass.core.pipeline.steps import Step
from windlass.core.runs import last_words, pauses
from windlass.core.runs import loop as loops
from windlass.core.runs.run_state import RunState, Stage

PREPARE, BEGIN, ASK = "run.prepare", "run.begin", "run.ask"
"""Make the agent and its workspace; begin a session for a visit; ask it for a result, or find that
it waits for somebody."""
LOOK = "run.look"
"""See whether an agent whose time is over is at work, or rests by somebody's word or a limit."""
ITERATE = "run.iterate"
"""End a session of a visit that goes on with another one, unless it waits for somebody."""
CLOSE, SUBMIT, FINISH = "run.close", "run.submit", "run.finish"
"""End a visit's session; propose the branch; mark the task, and tell."""

EFFECTS: dict[Stage, str] = {
    "preparing": PREPARE,
    "beginning": BEGIN,
    "asking": ASK,
    "looking": LOOK,
    "iterating": ITERATE,
    "closing": CLOSE,
    "submitting": SUBMIT,
    "finishing": FINISH,
}


def order(state: RunState) -> dict[str, Any]:
    """What the effect of a stage has to know of the run, as it was decided."""
    known = {"uid": state.uid, "task": state.task.id, **_of_step(state)}
    match state.stage:
        case "preparing":
            role = state.role_of(state.pipeline.steps[0].agent)
            known |= {"copy": msgspec.to_builtins(state.task), "role": role}
            known |= {"driver": state.driver, "mode": state.mode, "only_plans": state.only_plans}
        case "beginning":
            known |= _beginning(state)
        case "asking":
            known |= {"asks": asks(state)}
        case "iterating":
            known |= _ended(state, commits=_is_looked_at(state))
            known |= {"back_to": _back_to(state)}
        case "closing":
            result = state.result if state.ending is None else ""
            known |= {**_ended(state, commits=_commits(state)), "result": result}
            known |= {"only_plans": state.only_plans}
        case "submitting":
            known |= {"title": state.task.title, "again": bool(state.change)}
        case "finishing":
            known |= {"ending": msgspec.to_builtins(state.ending), "change": state.change}
            known |= {"only_plans": state.only_plans, "replaces": state.replaces}
    return known | pauses.order(state)


def asks(state: RunState) -> str:
    """What an agent is asked: to go on, for its result, or for its answer as a supervisor."""
    if state.model_failures:
        return "model"
    known = {"supervisor": "answer", "resume": "decision"}
    return known.get(state.loop.duty, "result")


def _back_to(state: RunState) -> str:
    """The commit at which the tree is to be again; nothing where it stays as it is."""
    if state.loop.duty == "resume":
        start = state.stop.start if state.stop is not None else ""
        return start if last_words.decision(state.said) == "restart" else ""
    restarts = state.loop.duty == "supervisor" and loops.answer(state.said) == "RESTART"
    return state.loop.start if restarts else ""


def _of_step(state: RunState) -> dict[str, Any]:
    runs = engine.running(state.pipeline, state.place)
    if runs is None:
        return {}
    return {
        "label": state.label,
        "step": runs.id,
        "role": state.session_role.name,
        "visit": state.visit,
        "readonly": state.only_looks,
        "results": state.role.results,
        "iteration": state.loop.iteration,
        "duty": state.loop.duty,
    }


def _beginning(state: RunState) -> dict[str, Any]:
    role = state.session_role
    is_live = role.mode == "live" or state.mode == "live"
    return {
        "again": state.sessions > 0 and not state.anew,
        "began_at": state.began_at,
        "change": state.change if state.ticket else "",
        "loop": msgspec.to_builtins(state.loop),
        "stopped": state.stop.why if state.stop is not None else "",
        "iterations": loops.most(state.role),
        "turns": role.turns,
        "model": role.model,
        "mode": "live" if is_live else "headless",
    }


def _ended(state: RunState, *, commits: bool) -> dict[str, Any]:
    """What ends a session has to know of it."""
    known = {"session": state.session, "began_at": state.began_at, "said": state.said}
    return {**known, "commits": commits}


def _is_looked_at(state: RunState) -> bool:
    """Whether somebody who only looks comes after an iteration: they would take back what it left.

    Who looks at it next has nothing of their own to commit.
    """
    follows = loops.following(state.loop, state.role, sums_up=state.sums_up)
    return state.loop.duty == "work" and follows != "work"


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
