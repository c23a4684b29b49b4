"""A model that is down: one tries at a time, ever later, and all go on one after the other."""

from __future__ import annotations

import heapq
from itertools import pairwise

import pytest

from windlass.core.runs import backend
from windlass.core.runs.backend import LONGEST, STAGGER, Backend


def played(runs: int, *, outage: float) -> tuple[list[float], dict[int, float]]:
    """When a model was tried that is down for a while, and when each run went on after it."""
    now = Backend()
    for run in range(runs):
        now = backend.failed(now, str(run), why="529", at=0.0, jitter=0.5)
    waiting = [(now.until, run, 0.0) for run in range(runs)]
    heapq.heapify(waiting)
    tries: list[float] = []
    went_on: dict[int, float] = {}
    while waiting:
        at, run, turn = heapq.heappop(waiting)
        now, given = backend.asked(now, str(run), at=at, turn=turn)
        if not given.is_now:
            heapq.heappush(waiting, (given.at, run, given.reserved))
        elif at < outage:
            tries.append(at)
            now = backend.failed(now, str(run), why="529", at=at + 1, jitter=0.5)
            heapq.heappush(waiting, (now.until, run, 0.0))
        else:
            went_on[run] = at
            now = backend.answered(now, at=at + 1)
    return tries, went_on


def test_a_hundred_runs_try_a_model_that_is_down_for_an_hour_a_few_times_together() -> None:
    tries, went_on = played(100, outage=3600.0)
    assert 10 < len(tries) < 25
    assert len(went_on) == 100


def test_they_go_on_one_after_the_other_once_it_answers() -> None:
    _, went_on = played(100, outage=3600.0)
    moments = sorted(went_on.values())
    assert moments[0] <= 3600.0 + LONGEST * 1.5
    gaps = [later - earlier for earlier, later in pairwise(moments[1:])]
    assert min(gaps) >= STAGGER - 1e-6


def test_who_comes_a_moment_too_early_keeps_its_turn() -> None:
    """Timers fire a little early, and each time it would be put behind all others."""
    now = backend.answered(backend.failed(Backend(), "a", why="529", at=0, jitter=0), at=10.0)
    now, first = backend.asked(now, "a", at=10.0)
    now, second = backend.asked(now, "b", at=10.0)
    assert (first.is_now, second.at) == (True, 10.0 + STAGGER)
    for early in (11.0, 14.0, 14.999):
        now, again = backend.asked(now, "b", at=early, turn=second.reserved)
        assert (again.is_now, again.at) == (False, second.at)
    assert backend.asked(now, "b", at=15.0, turn=second.reserved)[1].is_now


def test_pauses_grow_and_no_two_are_alike_by_chance() -> None:
    now, pauses = Backend(), []
    for number in range(9):
        at = now.until
        now = backend.failed(now, "a", why="529", at=at, jitter=number / 10)
        pauses.append(now.until - at)
    assert pauses == sorted(pauses)
    assert pauses[-1] <= LONGEST * 1.5
    assert now.since == 0.0


def test_a_model_that_answers_keeps_nobody() -> None:
    now, turn = backend.asked(Backend(), "a", at=10.0)
    assert turn.is_now
    assert backend.answered(now, at=11.0) == now == Backend()


@pytest.mark.parametrize(
    ("said", "is_outage"),
    [
        ("turn ended by an error: server_error: API Error: Repeated 529 Overloaded errors", True),
        ("turn ended by an error: unknown: Connection error", True),
        ("turn ended by an error: authentication_failed: 401", False),
        ("turn ended by an error: invalid_request: Prompt is too long", False),
        ("turn ended by an error: billing_error: Credit balance is too low", False),
    ],
)
def test_what_a_run_itself_is_the_reason_of_is_no_outage(said: str, *, is_outage: bool) -> None:
    assert backend.is_outage(said) is is_outage
