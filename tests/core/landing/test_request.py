"""The job of a pull request is over once all is done that follows from its end."""

from __future__ import annotations

from typing import Any

from windlass.core import jobs
from windlass.core.forge import PullRequest
from windlass.core.jobs import Decision, News
from windlass.core.landing import job as landing
from windlass.core.landing import request
from windlass.core.landing.request import RequestState

STATE = RequestState(
    target="main", remote="origin", group=("c1",), heads={"c1": "h"}, old="o", new="n", tree="t",
    verdict="passed", request=PullRequest(number=1, address="there"),
)  # fmt: skip


def hear(data: dict[str, Any], what: str, status: str = "done", **result: Any) -> Decision:
    """Tells the job of the end of an effect."""
    ended = {"number": 1, "what": what, "status": status, "result": result or None}
    return request.advance(data, News(id=1, kind=jobs.EFFECT, at=5.0, data=ended))


def test_an_author_that_cannot_be_ended_is_told_of_before_it_is_over() -> None:
    """As by the queue."""
    seen = hear(request.begun(STATE), request.LOOK, outcome="landed", authors=[{"change": "c1"}])
    assert [effect.what for effect in seen.effects] == [landing.RETIRE]
    assert seen.result is None
    ended = hear(seen.state, landing.RETIRE, "failed")
    assert [effect.what for effect in ended.effects] == [landing.TELL]
    assert ended.result == {"outcome": "landed"}


def test_that_it_was_closed_is_told_until_it_is_known() -> None:
    """Else its changes would wait for it for ever."""
    seen = hear(request.begun(STATE), request.LOOK, outcome="closed")
    failed = hear(seen.state, landing.STOP, "failed")
    assert (failed.result, failed.wake_at) == (None, 5.0 + request.PERIOD)
    woken = request.advance(failed.state, News(id=2, kind=jobs.WOKEN, at=65.0, data={}))
    assert [effect.what for effect in woken.effects] == [landing.STOP]
    assert hear(woken.state, landing.STOP, changes=["c1"]).result == {"outcome": "closed"}
