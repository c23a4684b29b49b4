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
from windlass.core.landing.job import STOP, Stopped, retired

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


def begun(state: RequestState) -> dict[str, Any]:
    """The state of a new job as it is kept."""
    kept: dict[str, Any] = msgspec.to_builtins(state)
    return kept


def advance(data: dict[str, Any], news: News) -> Decision:
    """Looks each time that it is woken, and is over with the pull request."""
    if news.kind == jobs.WOKEN:
        return Decision(data, (Effect(LOOK, data),))
    if news.kind == jobs.CANCELLED:
        return Decision(data, result={"outcome": "cancelled"})
    if news.kind != jobs.EFFECT or news.data["what"] != LOOK:
        return Decision(data, wake_at=news.at + PERIOD)
    result = news.data.get("result") or {}
    outcome = result.get("outcome", "open") if news.data["status"] == "done" else "open"
    if outcome == "open":
        return Decision(data, wake_at=news.at + PERIOD)
    over = {"outcome": outcome}
    if outcome == "closed":
        return Decision(data, (_closed(shapes.convert(data, RequestState)),), result=over)
    return Decision(data, retired(result), result=over)


def _closed(state: RequestState) -> Effect:
    why = f"its pull request was closed without being merged: {state.request.address}"
    stopped = [
        Stopped(change=name, head=state.heads[name], state="held", why=why) for name in state.group
    ]
    return Effect(STOP, {"stopped": msgspec.to_builtins(stopped), "target": state.target})


KIND = JobKind("landing.request", advance)
