"""The job of one pull request: it is looked at again and again, until it is merged or closed.

Pure. It is over as well where none of its changes waits for it any more: dropped, blocked, proposed
again.
"""

from __future__ import annotations

from typing import Any

import msgspec

from windlass.core import jobs, shapes
from windlass.core.forge import PullRequest
from windlass.core.jobs import Decision, Effect, JobKind, News
from windlass.core.landing.job import RETIRE, STOP, retired, told_failure
from windlass.core.landing.queue import Stopped

LOOK = "landing.look"
"""Ask the upstream, and the forge, what became of it."""
PERIOD = 60.0
"""Seconds between two looks."""


class RequestState(msgspec.Struct, frozen=True, kw_only=True):
    """What was proven and pushed, for whom, and where it waits."""

    target: str
    remote: str
    group: tuple[str, ...]
    heads: dict[str, str]
    old: str
    """The upstream's tip that it was proven on."""
    new: str
    tree: str
    verdict: str
    request: PullRequest
    outcome: str = ""
    """What became of it, once that is known."""
    left: int = 0
    """How many authors of what landed are being ended still."""


def begun(state: RequestState) -> dict[str, Any]:
    """The state of a new job as it is kept."""
    kept: dict[str, Any] = msgspec.to_builtins(state)
    return kept


def advance(data: dict[str, Any], news: News) -> Decision:
    """Looks each time that it is woken, and is over once all is done that follows from its end."""
    state = shapes.convert(data, RequestState)
    if news.kind == jobs.WOKEN:
        return Decision(data, (_stop(state) if state.outcome else Effect(LOOK, data),))
    if news.kind == jobs.CANCELLED:
        return Decision(data, result={"outcome": "cancelled"})
    if news.kind == jobs.EFFECT and news.data["what"] == RETIRE:
        return _retired(state, news.data)
    if news.kind == jobs.EFFECT and news.data["what"] == STOP and news.data["status"] == "done":
        return _over(state)
    if news.kind == jobs.EFFECT and news.data["what"] == LOOK and news.data["status"] == "done":
        return _seen(state, news)
    return Decision(data, wake_at=news.at + PERIOD)


def _seen(state: RequestState, news: News) -> Decision:
    result = news.data["result"]
    if result["outcome"] == "open":
        return Decision(begun(state), wake_at=news.at + PERIOD)
    effects = retired(result)
    state = msgspec.structs.replace(state, outcome=result["outcome"], left=len(effects))
    if state.outcome == "closed":
        return Decision(begun(state), (_stop(state),))
    return Decision(begun(state), effects) if effects else _over(state)


def _retired(state: RequestState, effect: dict[str, Any]) -> Decision:
    """Says of an author that could not be ended; the last one is the end."""
    state, told = msgspec.structs.replace(state, left=state.left - 1), told_failure(effect)
    return Decision(begun(state), told) if state.left else _over(state, *told)


def _over(state: RequestState, *effects: Effect) -> Decision:
    return Decision(begun(state), effects, result={"outcome": state.outcome})


def _stop(state: RequestState) -> Effect:
    why = f"its pull request was closed without being merged: {state.request.address}"
    stopped = [
        Stopped(change=name, head=state.heads[name], state="held", why=why) for name in state.group
    ]
    return Effect(STOP, {"stopped": msgspec.to_builtins(stopped), "target": state.target})


KIND = JobKind("landing.request", advance)
