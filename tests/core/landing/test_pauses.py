"""A queue never goes round in circles: whatever effects come back with, it comes to rest."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from windlass.core import jobs
from windlass.core.jobs import Effect, News
from windlass.core.landing import job as landing

BUSY = (landing.TRY, landing.LAND, landing.STOP)
_MOST = 60
"""Effects that a queue of three changes may begin before it rests, and no news from outside."""


class Futile:
    """A queue whose effects end well, and change nothing."""

    def __init__(self, *names: str) -> None:
        self.data = landing.begun("main")
        self.now = 0.0
        self.effect: tuple[int, Effect] | None = None
        self.number = 0
        for name in names:
            self.hear("change.queued", change=name, target="main", head=f"{name}.1")

    def hear(self, kind: str, **data: Any) -> None:
        """Tells the queue of something."""
        decision = landing.advance(self.data, News(id=1, kind=kind, at=self.now, data=data))
        self.data = decision.state
        for effect in decision.effects:
            self.number += 1
            if effect.what in BUSY:
                assert self.effect is None
                self.effect = (self.number, effect)

    def end(self, result: dict[str, Any]) -> None:
        """Ends the effect that is under way."""
        assert self.effect is not None
        (number, effect), self.effect = self.effect, None
        self.hear(jobs.EFFECT, what=effect.what, number=number, status="done", result=result)

    def rest(self, replies: Any) -> float:
        """Ends effects until none is under way; the seconds that it waits then."""
        for _ in range(_MOST):
            if self.effect is None:
                assert self.data["wake_at"] is not None, "nothing is under way, and nothing will be"
                return float(self.data["wake_at"] - self.now)
            self.end(replies(self.effect[1]))
        raise AssertionError("it never rests")

    def wake(self) -> None:
        """The moment has come."""
        self.now = self.data["wake_at"]
        self.hear(jobs.WOKEN)


def answers(effect: Effect) -> list[dict[str, Any]]:
    """All that an effect may say without having changed anything."""
    heads = effect.data["heads"]
    if effect.what == landing.STOP:
        return [{"changes": []}]
    if effect.what == landing.LAND:
        moves: tuple[dict[str, Any], ...]
        moves = ({}, {"waits": "git is at work"}, {"requested": True}, {"in_the_way": {"c9": "x"}})
        basis = {"landed": False, "in_the_way": {}, "group": effect.data["tried"]["group"]}
        return [{**basis, "landed": True}, *({**basis, **more} for more in moves)]
    groups = effect.data["groups"]
    green = [{"group": group, "tree": "t", "outcome": "passed"} for group in groups]
    gone = [{"change": name, "head": heads[name], "state": "held"} for name in heads]
    known = [(green, []), ([], gone), (green, gone)]
    return [
        {"tip": tip, "tries": tries, "stopped": stopped, "deferred": []}
        for tip in ("a", "b")
        for tries, stopped in known
    ]


@given(st.integers(min_value=0, max_value=2**32))
@settings(max_examples=200, deadline=None)
def test_a_queue_rests_however_often_its_effects_change_nothing(seed: int) -> None:
    """Between two beginnings of the same there is a wait."""
    dice = random.Random(seed)  # noqa: S311 - what effects say, in which order
    queue = Futile("c1", "c2", "c3")
    for _ in range(5):
        queue.rest(lambda effect: dice.choice(answers(effect)))
        queue.wake()


@pytest.mark.parametrize("place", range(5))
def test_the_pauses_of_a_queue_that_gets_nowhere_grow_up_to_a_minute(place: int) -> None:
    """It says the same each time, and is asked ever more seldom."""
    queue = Futile("c1")
    waited = []
    for _ in range(8):
        waited.append(queue.rest(lambda effect: answers(effect)[min(place, _last(effect))]))
        queue.wake()
    assert waited == [2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0, 60.0]


def _last(effect: Effect) -> int:
    """The last answer that there is, of those that name a tip `a`: the first one for a try."""
    return 0 if effect.what == landing.TRY else len(answers(effect)) - 1


def test_who_proposes_something_does_not_wait_for_the_pause_of_what_gets_nowhere() -> None:
    queue = Futile("c1")
    queue.rest(lambda effect: answers(effect)[0])
    queue.hear("change.queued", change="c2", target="main", head="c2.1")
    assert queue.effect is not None


def test_a_clock_that_is_set_back_makes_no_pause_longer_than_it_was_meant_to_be() -> None:
    """A queue hears of what concerns it not, and waits for its moment as before."""
    queue = Futile("c1")
    queue.now = 7200.0
    assert queue.rest(lambda effect: answers(effect)[0]) == 2.0
    queue.now = 0.0
    queue.hear("job.done", what="gate", job="another's", result={"outcome": "failed"})
    assert queue.data["wake_at"] == 2.0
