"""What becomes of a run that stopped without a result: it goes on, waits, or has failed. Pure.

The role `resume-decide` says it, where the repository has one of its own; without that, or without
an answer of it, the run has failed and a person decides (`wl retry`).
"""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

from msgspec.structs import replace

from windlass.core.jobs import Decision
from windlass.core.runs import last_words
from windlass.core.runs.moves import changed, do, finish, fresh_session, fresh_visit, rest
from windlass.core.runs.run_state import Ending, RunState, Stop, Verdict

Answer: TypeAlias = Literal["retry", "restart", "abort", "defer"]
ANSWERS: tuple[Answer, ...] = get_args(Answer)
"""The same step goes on; it begins anew; the task has failed; it goes on much later."""
MOST = 3
"""Times that it is decided in one run."""
COOL_DOWN, DEFERRED = 60.0, 1800.0
"""Seconds until a step goes on, twice as long after each time; and where that is deferred."""
DUTY: Literal["resume"] = "resume"


def answer(said: str) -> Answer | None:
    """What a report decides; None where it does not begin with one of the answers."""
    first = last_words.decision(said)
    return next((known for known in ANSWERS if known == first), None)


def stopped(state: RunState, why: str, at: float, *, start: str = "") -> Decision:
    """Has it decided what becomes of a run, or ends it where nobody decides that any more."""
    if state.ending is not None:
        return finish(state, state.ending)
    if state.loop.duty == DUTY:
        return _follow(state, None, at)
    if len(state.verdicts) >= MOST:
        why = f"{why} (after {MOST} decisions of resume-decide)"
    if not state.decides or len(state.verdicts) >= MOST:
        return finish(state, Ending(outcome="failed", why=why))
    start = start or state.loop.start
    state = changed(fresh_session(state), stop=Stop(why=why, start=start), until=0.0)
    return do(changed(state, loop=replace(state.loop, duty=DUTY), stage="beginning"))


def decided(state: RunState, at: float) -> Decision:
    """Does what the session said that decided; its tree is as it is to be by then."""
    return _follow(state, answer(state.said), at)


def is_deferred(state: RunState) -> bool:
    """Whether a run goes on later by such a decision, and nothing else is under way."""
    waits = state.stage == "beginning" and not state.at_work and state.wake_at is not None
    return waits and bool(state.verdicts) and not state.sessions


def _follow(state: RunState, given: Answer | None, at: float) -> Decision:
    stop = state.stop or Stop(why="it stopped")
    said = last_words.report(state.said).strip()
    reason = (said or "it gave no answer") if given else "resume-decide gave no answer"
    verdict = Verdict(answer=given or "abort", why=reason, stopped=stop.why, at=at)
    state = changed(state, verdicts=(*state.verdicts, verdict), stop=None)
    if verdict.answer == "abort":
        ending = Ending(outcome="failed", why=f"{stop.why}; {reason}")
        return finish(changed(state, session=0), state.ending or ending)
    number = len(state.verdicts)
    pause = DEFERRED if verdict.answer == "defer" else COOL_DOWN * 2.0 ** (number - 1)
    state = changed(fresh_visit(state, at), stage="beginning", wake_at=at + pause)
    return rest(changed(state, held=f"{stop.why}; resume-decide: {reason}"))
