"""A text is handed over once, or its giver knows that it was not."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from windlass.daemon.mail.handover import Handover


def test_what_is_given_in_time_is_taken() -> None:
    handover = Handover()
    assert handover.give("news")
    assert handover.take(within=0.0) == "news"


def test_who_gives_too_late_is_told_so() -> None:
    handover = Handover()
    assert handover.take(within=0.0) is None
    assert handover.is_late
    assert not handover.give("news")


def test_however_close_it_is_giver_and_taker_agree() -> None:
    with ThreadPoolExecutor(1) as pool:
        for _ in range(300):
            handover = Handover()
            given = pool.submit(handover.give, "news")
            taken = handover.take(within=0.00001)
            assert given.result() == (taken == "news")
