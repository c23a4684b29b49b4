"""The target, or a branch that waits, is moved, rewritten, renamed or deleted while it is gated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.daemon.gate.gate_ground import BROKEN
from tests.daemon.landing.landing_ground import LandingGround
from tests.support.contexts import Turned

Acts = Callable[[], object]


def while_gating(ground: LandingGround, act: Acts, *, point: str = "landing.try.try.after") -> None:
    """Has somebody do something once, at a point that the daemon comes to."""
    done: list[object] = []

    def reached(name: str) -> None:
        if name == point and not done:
            done.append(True)
            act()

    ground.context.failpoints.reached = reached  # type: ignore[method-assign]


def own_line(ground: LandingGround) -> list[str]:
    """What stands on main's own line, the newest first."""
    return ground.git("log", "--first-parent", "--format=%s", "main").splitlines()


def test_a_branch_that_is_rewritten_while_it_is_tried_lands_as_it_was_proposed(
    ground: LandingGround,
) -> None:
    """A person's branch has its next revision by another `wl merge`, and by nothing else."""
    head = ground.commit({"more.py": "more = 1\n"}, branch="mine")
    while_gating(ground, lambda: ground.commit({**BROKEN, "other.py": ""}, branch="mine"))
    name = ground.submit("mine")
    ground.settle()
    assert ground.states() == {"mine": "landed"}
    assert ground.change(name)["head"] == head
    assert not (ground.root / "other.py").exists()
    assert ground.prove(ground.git("rev-parse", "main^{tree}"))["cached"] is True


def test_a_branch_that_is_deleted_while_it_is_tried_lands_all_the_same(
    ground: LandingGround,
) -> None:
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    while_gating(ground, lambda: ground.git("branch", "-q", "-D", "mine"))
    ground.submit("mine")
    ground.settle()
    assert ground.states() == {"mine": "landed"}
    assert (ground.root / "more.py").exists()


@pytest.mark.parametrize("point", ["landing.try.try.after", "landing.land.plan.after"])
def test_a_target_that_is_rewritten_has_the_change_proven_on_what_it_is_now(
    ground: LandingGround, point: str
) -> None:
    """What was taken off it by the person does not come back with the change."""
    ground.commit({"secret.py": "secret = 1\n"})
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    ground.git("branch", "-q", "-f", "mine", "main")
    ground.git("checkout", "-q", "-B", "mine", "main~1")
    (ground.root / "more.py").write_text("more = 1\n")
    ground.git("add", "-A")
    ground.git("commit", "-q", "-m", "more")
    ground.git("checkout", "-q", "main")

    def rewrite() -> None:
        ground.git("reset", "-q", "--hard", "main~1")
        ground.commit({"instead.py": "instead = 1\n"})

    while_gating(ground, rewrite, point=point)
    ground.submit("mine")
    ground.settle()
    assert ground.states() == {"mine": "landed"}
    assert (ground.root / "instead.py").exists()
    assert not (ground.root / "secret.py").exists()
    assert ground.git("status", "--porcelain") == ""
    assert ground.prove(ground.git("rev-parse", "main^{tree}"))["cached"] is True


@pytest.mark.parametrize("point", ["landing.try.try.after", "landing.land.plan.after"])
def test_a_target_that_moved_is_landed_on_where_it_is_now(
    ground: LandingGround, point: str
) -> None:
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    while_gating(ground, lambda: ground.commit({"foreign.py": "foreign = 1\n"}), point=point)
    ground.submit("mine")
    ground.settle()
    assert ground.states() == {"mine": "landed"}
    assert own_line(ground)[1] == "more"
    assert (ground.root / "foreign.py").exists()
    assert ground.prove(ground.git("rev-parse", "main^{tree}"))["cached"] is True


@pytest.mark.parametrize("point", ["landing.try.try.after", "landing.land.plan.after"])
@pytest.mark.parametrize("how", ["deleted", "renamed"])
def test_a_target_that_is_gone_is_not_made_again_and_lands_once_it_is_back(
    ground: LandingGround, clock: Turned, point: str, how: str
) -> None:
    """The change is held, says why, and goes on by itself; nothing is lost of it."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    was = ground.git("rev-parse", "main")

    def go() -> None:
        if how == "renamed":
            ground.git("branch", "-q", "-m", "main", "trunk")
        else:
            ground.git("checkout", "-q", "--detach")
            ground.git("branch", "-q", "-D", "main")

    while_gating(ground, go, point=point)
    name = ground.submit("mine")
    ground.settle()
    assert ground.git("branch", "--list", "main") == ""
    shown = ground.change(name)
    assert (shown["state"], shown["why"]) == ("held", "there is no branch main to land on")
    clock.time += 100.0
    ground.engine.wake_due()
    ground.settle()
    assert ground.change(name)["why"] == "there is no branch main to land on"
    assert ground.git("status", "--porcelain") == ""
    if how == "renamed":
        ground.git("branch", "-q", "-m", "trunk", "main")
    else:
        ground.git("checkout", "-q", "-B", "main", was)
    clock.time += 100.0
    ground.engine.wake_due()
    ground.settle()
    assert ground.states() == {"mine": "landed"}


def test_three_checkouts_go_along_or_hold_by_what_is_in_each(
    ground: LandingGround, tmp_path: Path
) -> None:
    """Beside, in the way, and untracked in the way: what overlaps is held, and nothing is half."""
    ground.commit({"free.py": "free = 1\n"}, branch="free")
    ground.commit({"calc.py": "def add(a, b):\n    return b + a\n"}, branch="edits")
    ground.commit({"new.py": "new = 1\n"}, branch="adds")
    places = {name: tmp_path / name for name in ("beside", "over", "untracked")}
    for place in places.values():
        ground.git("worktree", "add", "-q", "-f", str(place), "main")
    (places["beside"] / "notes.txt").write_text("mine\n")
    (places["over"] / "calc.py").write_text("# mine\n")
    (places["untracked"] / "new.py").write_text("mine = 1\n")
    for branch in ("edits", "free", "adds"):
        ground.submit(branch)
    ground.settle()
    assert ground.states() == {"free": "landed", "edits": "held", "adds": "held"}
    said = {c.branch: ground.change(c.id)["why"] for c in ground.changes()}
    assert str(places["over"]) in said["edits"]
    assert str(places["untracked"]) in said["adds"]
    shown = {
        name: ground.git("-C", str(at), "status", "--porcelain") for name, at in places.items()
    }
    assert shown == {"beside": "?? notes.txt", "over": "M calc.py", "untracked": "?? new.py"}
    for place in (ground.root, *places.values()):
        assert (place / "free.py").exists()
    assert (places["untracked"] / "new.py").read_text() == "mine = 1\n"


@pytest.mark.parametrize("has_it", [True, False])
def test_what_waits_lands_on_the_branch_it_was_proposed_for_though_another_is_configured_since(
    ground: LandingGround, has_it: bool
) -> None:
    """What the other branch has says nothing of the one that the change is for, nor its gate."""
    ground.commit({"one.py": "one = 1\n"}, branch="one")
    ground.commit({"two.py": "two = 2\n"}, branch="two")
    ground.git("branch", "develop", "two" if has_it else "main")
    ground.submit("one")
    name = ground.submit("two")
    ground.configure("landing.target", "develop")
    ground.settle()
    assert ground.states() == {"one": "landed", "two": "landed"}
    assert (ground.root / "one.py").exists()
    assert (ground.root / "two.py").exists()
    assert ground.change(name)["target"] == "main"
