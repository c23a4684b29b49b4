"""What agents give of their limits: as much as they have left themselves, and no more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core import allowances
from windlass.core.allowances import Allowance
from windlass.core.crew import Limits
from windlass.core.errors import Denied
from windlass.core.ids import AgentId

LEAD = AgentId("lead")
AMOUNTS = st.none() | st.floats(0.01, 1e6)
LIMITS = st.builds(Limits, turns=st.none() | st.integers(1, 1000), usd=AMOUNTS, seconds=AMOUNTS)
ALLOWANCES = st.builds(Allowance, st.just(LEAD), LIMITS, st.just(0.0) | st.floats(0.01, 1e6))


def test_more_than_is_left_is_refused_with_what_is_left() -> None:
    lead = Allowance(LEAD, Limits(usd=0.739, seconds=60.0, turns=3))
    for asked, said in (
        (Limits(usd=100_000), r"lead cannot give 100000 USD: it has 0.73 itself"),
        (Limits(seconds=61), r"lead cannot give 61 seconds: it has 60 itself"),
        (Limits(turns=4), r"lead cannot give 4 turns: it has 3 itself"),
    ):
        with pytest.raises(Denied, match=said):
            allowances.given(asked, [lead])


def test_who_asks_for_nothing_gets_what_is_left() -> None:
    lead = Allowance(LEAD, Limits(usd=0.7, seconds=60.0, turns=3))
    assert allowances.given(Limits(), [lead]) == Limits(usd=0.7, seconds=60.0, turns=3)
    assert allowances.given(Limits(usd=0.1), [lead]).usd == 0.1


def test_nothing_is_given_by_who_has_nothing_left() -> None:
    for left in (Limits(usd=0.0), Limits(usd=-0.1), Limits(seconds=0.0)):
        with pytest.raises(Denied, match="nothing left"):
            allowances.given(Limits(), [Allowance(LEAD, left)])


def test_who_has_no_limit_of_its_own_gives_no_more_than_everybody_may_spend() -> None:
    lead = Allowance(LEAD, Limits(), common=10.0)
    with pytest.raises(Denied, match="cannot give 11 USD: it has 10 itself"):
        allowances.given(Limits(usd=11), [lead])
    assert allowances.given(Limits(), [lead]) == Limits(), "the common limit holds for it anyway"
    rich = Allowance(LEAD, Limits(usd=50.0), common=10.0)
    assert allowances.given(Limits(), [rich]).usd == 10.0, "no more than for anybody else"
    assert allowances.given(Limits(usd=40), [rich]).usd == 40


@given(LIMITS, st.lists(ALLOWANCES, max_size=3))
def test_nobody_has_more_than_any_of_those_that_it_has_it_from(
    asked: Limits, given_by: list[Allowance]
) -> None:
    try:
        limits = allowances.given(asked, given_by)
    except Denied:
        return
    for allowance in given_by:
        for name in ("turns", "usd", "seconds"):
            left = getattr(allowance.left, name)
            assert left is None or getattr(limits, name) <= left
        if allowance.common and allowance.left.usd is None and limits.usd is not None:
            assert limits.usd <= allowance.common
