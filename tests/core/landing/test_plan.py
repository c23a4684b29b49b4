"""The plan of a queue: no bad change lands, no good one is sent back, and it comes to an end."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from windlass.core.landing.plan import TIP, Group, Outcome, Plan, plan

Judge = Callable[[Group, Group], Outcome]
"""Says how a group fares on what has landed."""


class Played(Exception):
    """A rule was broken."""


def play(queue: Group, judge: Judge, *, slots: int = 1) -> dict[str, Group]:
    """Plays a queue to its end, every outcome as the judge says; where each change ended."""
    waiting = list(queue)
    landed: list[str] = []
    rejected: list[str] = []
    held: list[str] = []
    known: dict[Group, Outcome] = {}
    for _ in range(20 * len(queue) + 20):
        decision = plan(waiting, known, (), slots)
        if decision == Plan():
            break
        for group in decision.start:
            if group in known:
                raise Played(f"{group} is asked for twice")
            known[group] = judge(tuple(landed), group)
        if decision.land:
            assert known[decision.land] == "passed"
            landed += decision.land
            known = {TIP: "passed"}
        for name in decision.reject:
            assert (known[(name,)], known[TIP]) in (("failed", "passed"), ("ran-nothing", "passed"))
        rejected += decision.reject
        held += decision.hold
        gone = {*decision.land, *decision.reject, *decision.hold}
        waiting = [name for name in waiting if name not in gone]
    assert not waiting, f"{waiting} wait for ever"
    return {"landed": tuple(landed), "rejected": tuple(rejected), "held": tuple(held)}


def test_everything_that_is_green_together_lands_at_once() -> None:
    """One try, one landing."""
    asked = []

    def judge(_: Group, group: Group) -> Outcome:
        asked.append(group)
        return "passed"

    assert play(("a", "b", "c"), judge)["landed"] == ("a", "b", "c")
    assert asked == [("a", "b", "c")]


def test_a_change_that_could_not_be_tried_is_held_and_not_sent_back() -> None:
    """Nothing is known against it."""
    done = play(("a", "b"), lambda _, group: "could-not-run" if "b" in group else "passed")
    assert done == {"landed": ("a",), "rejected": (), "held": ("b",)}


def test_on_a_red_tip_only_what_makes_it_green_lands_and_nobody_is_sent_back() -> None:
    """The others go on once it is green."""

    def judge(landed: Group, group: Group) -> Outcome:
        return "passed" if "cure" in (*landed, *group) else "failed"

    assert set(play(("a", "b", "cure"), judge)["landed"]) == {"a", "b", "cure"}
    assert play(("a", "b"), judge) == {"landed": (), "rejected": (), "held": ("a", "b")}


NAMES = [f"c{number}" for number in range(1, 13)]


@settings(max_examples=300, deadline=None)
@given(
    queue=st.lists(st.sampled_from(NAMES), unique=True, min_size=1),
    bad=st.sets(st.sampled_from(NAMES), max_size=5),
    pairs=st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=4),
)
def test_no_bad_change_lands_no_good_one_is_sent_back_and_everything_ends(
    queue: list[str], bad: set[str], pairs: list[tuple[str, str]]
) -> None:
    """Also where two fail only together: of such a pair one lands at most."""

    def judge(landed: Group, group: Group) -> Outcome:
        together = {*landed, *group}
        fights = any(one != other and {one, other} <= together for one, other in pairs)
        return "failed" if fights or bad & together else "passed"

    done = play(tuple(queue), judge)
    landed = set(done["landed"])
    assert not landed & bad
    assert not done["held"]
    assert judge((), done["landed"]) == "passed"
    for name in set(done["rejected"]) - bad:
        assert any(name in pair and (set(pair) - {name}) & landed for pair in pairs), name


def test_what_is_on_the_way_is_waited_for_and_what_nobody_needs_is_cancelled() -> None:
    """Slots bound what is begun, and the tries of a change that left are ended."""
    assert plan(["a", "b"], {}, [("a", "b")], 1) == Plan()
    assert plan(["b"], {}, [("a", "b")], 1) == Plan(start=(("b",),), cancel=(("a", "b"),))
    assert plan([], {}, [("a",)], 1) == Plan(cancel=(("a",),))
