"""Locks by name exclude one another, and are gone when nobody needs them."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor

from tests.support.ground import until

from windlass.daemon.kernel.keyed_locks import KeyedLocks, StillHeld


def test_many_threads_never_hold_the_same_key_at_once_and_leave_nothing_behind() -> None:
    locks, inside = KeyedLocks(), dict.fromkeys("abcd", 0)

    def work(seed: int) -> None:
        dice = random.Random(seed)  # noqa: S311 - the order of a test
        for _ in range(200):
            keys = dice.sample("abcd", 2)  # in any order: who took them as given would deadlock
            with locks.holding(keys):
                for key in keys:
                    inside[key] += 1
                    assert inside[key] == 1
                for key in keys:
                    inside[key] -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(locks) == 0


def test_a_thread_may_hold_a_key_twice() -> None:
    locks = KeyedLocks()
    with locks.holding(["a", "a"]), locks.holding(["a"]):
        assert len(locks) == 1
    assert len(locks) == 0


def test_who_tries_is_told_whether_it_holds_the_key() -> None:
    locks, asked, over = KeyedLocks(), threading.Event(), threading.Event()
    answers: list[bool] = []

    def other() -> None:
        with locks.trying("a") as held:
            answers.append(held)
        with locks.trying("a", within=0.01) as held:
            answers.append(held)
        asked.set()
        with locks.trying("a", within=30.0) as held:
            answers.append(held)
        over.set()

    thread = threading.Thread(target=other)
    with locks.holding(["a"]):
        thread.start()
        assert asked.wait(60)
    assert over.wait(60)
    thread.join()
    assert answers == [False, False, True]
    assert len(locks) == 0


def test_who_does_not_wait_for_ever_is_told_which_key_is_held_and_holds_none() -> None:
    locks, refused = KeyedLocks(), []

    def other() -> None:
        try:
            with locks.holding(["a", "b", "c"], within=0.01):
                raise AssertionError
        except StillHeld as held:
            refused.append(held.key)

    with locks.holding(["b"]):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert refused == ["b"]
        assert len(locks) == 1
    with locks.holding(["a", "b", "c"], within=0.01):
        assert len(locks) == 3


def test_a_key_that_somebody_waits_for_is_not_forgotten() -> None:
    """Else the next one would make a lock of its own, and both would hold the key."""
    locks, let_go = KeyedLocks(), threading.Event()
    order: list[str] = []

    def wait() -> None:
        with locks.holding(["a"]):
            order.append("waited")
            let_go.wait(60)

    waiting = threading.Thread(target=wait)
    with locks.holding(["a"]):
        waiting.start()
        until(lambda: locks._counted["a"].users == 2, what="one who waits")  # noqa: SLF001 - no event
    until(lambda: order == ["waited"], what="its turn")
    with locks.trying("a") as held:
        assert not held
    let_go.set()
    waiting.join()
    assert len(locks) == 0


def test_what_fails_inside_lets_go() -> None:
    locks = KeyedLocks()
    for hold in (locks.holding(["a"]), locks.trying("a")):
        try:
            with hold:
                raise ValueError
        except ValueError:
            assert len(locks) == 0
