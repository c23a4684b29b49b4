"""Changes that need others land after these, and never without them."""

from __future__ import annotations

from tests.daemon.gate.gate_ground import BROKEN
from tests.daemon.landing.landing_ground import LandingGround


def chain(ground: LandingGround) -> list[str]:
    """Three changes, each of which needs the one before."""
    names: list[str] = []
    for number in range(3):
        ground.commit({f"m{number}.py": f"m = {number}\n"}, branch=f"b{number}")
        names.append(ground.submit(f"b{number}", needs=names[-1:]))
    return names


def test_all_that_wait_behind_one_that_comes_back_are_held(ground: LandingGround) -> None:
    """Also those that wait behind those: they would be in the queue for ever."""
    ground.commit(BROKEN, branch="b0")
    base = ground.submit("b0")
    ground.commit({"m1.py": "m = 1\n"}, branch="b1")
    middle = ground.submit("b1", needs=[base])
    ground.commit({"m2.py": "m = 2\n"}, branch="b2")
    top = ground.submit("b2", needs=[middle])
    ground.settle()
    assert ground.states() == {"b0": "rejected", "b1": "held", "b2": "held"}
    assert ground.change(middle)["why"] == f"it needs {base}, which is rejected"
    assert ground.change(top)["why"] == f"it needs {middle}, which is held"


def test_all_that_wait_behind_one_that_is_blocked_are_held_until_it_lands(
    ground: LandingGround,
) -> None:
    """Then they go on, one after the other."""
    base, _, _ = chain(ground)
    ground.judge("block", base, why="not today")
    ground.settle()
    assert ground.states() == {"b0": "held", "b1": "held", "b2": "held"}
    ground.judge("approve", base)
    ground.settle()
    assert ground.states() == {"b0": "landed", "b1": "landed", "b2": "landed"}


def test_all_that_wait_behind_one_that_is_dropped_are_held(ground: LandingGround) -> None:
    """Each says for what."""
    base, middle, top = chain(ground)
    ground.judge("drop", base)
    ground.settle()
    assert ground.states() == {"b0": "dropped", "b1": "held", "b2": "held"}
    why = f"it needs {base}, which is dropped: to land it without, wl merge {middle} --no-needs"
    assert ground.change(middle)["why"] == why
    assert ground.change(top)["why"] == f"it needs {middle}, which is held"
    assert ground.submit(middle, needs=[""]) == middle
    ground.settle()
    assert ground.change(middle)["needs"] == []
    assert ground.states() == {"b0": "dropped", "b1": "landed", "b2": "landed"}


def test_one_that_has_nothing_to_land_is_needed_by_nobody_any_more(ground: LandingGround) -> None:
    """The target has all of it: what waits for it lands, and so does what names it later."""
    ground.git("branch", "same", "main")
    ground.commit({"m1.py": "m = 1\n"}, branch="b1")
    ground.commit({"m2.py": "m = 2\n"}, branch="b2")
    base = ground.submit("same")
    ground.submit("b1", needs=[base])
    ground.settle()
    assert ground.states() == {"same": "nothing-to-land", "b1": "landed"}
    ground.submit("b2", needs=[base])
    ground.settle()
    assert ground.states()["b2"] == "landed"


def test_who_was_held_for_one_that_then_has_nothing_to_land_goes_on(ground: LandingGround) -> None:
    """Somebody merged it by hand."""
    base, _, _ = chain(ground)
    ground.judge("block", base, why="by hand")
    ground.settle()
    ground.git("merge", "-q", "--no-edit", "b0")
    ground.judge("approve", base)
    ground.settle()
    assert ground.states() == {"b0": "nothing-to-land", "b1": "landed", "b2": "landed"}


def test_what_waits_may_need_others_than_before_and_keeps_its_own_unsaid(
    ground: LandingGround,
) -> None:
    """The same head with other needs is no new revision."""
    base, middle, top = chain(ground)
    ground.judge("block", base, why="not today")
    ground.submit(middle)
    assert ground.change(middle)["needs"] == [base]
    ground.submit(top, needs=[])
    ground.settle()
    assert ground.states() == {"b0": "held", "b1": "held", "b2": "landed"}
    assert ground.change(top)["revision"] == 1


def test_one_whose_need_has_to_wait_does_not_land_before_it(ground: LandingGround) -> None:
    """What it needs conflicts with another that waits before, and is not tried with that."""
    ground.commit({"same.txt": "one\n"}, branch="first")
    ground.commit({"same.txt": "two\n"}, branch="base")
    ground.commit({"top.py": "top = 1\n"}, branch="top")
    ground.submit("first")
    base = ground.submit("base")
    top = ground.submit("top", needs=[base])
    ground.settle()
    assert ground.states() == {"first": "landed", "base": "conflict", "top": "held"}
    assert ground.change(top)["why"] == f"it needs {base}, which is conflict"
