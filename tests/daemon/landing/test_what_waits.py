"""What waits to land says why it is no further, goes on by itself, and obeys the gate of today."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from tests.daemon.gate import gate_ground
from tests.daemon.gate.gate_ground import CODE, GATE
from tests.daemon.landing.landing_ground import LandingGround
from tests.support.contexts import Turned
from tests.support.small_disk import ONLY_ROOT, mounted

from windlass.daemon.kernel import settings
from windlass.daemon.kernel.context import Context


def wait(ground: LandingGround, clock: Turned, seconds: float) -> None:
    """Has the moments come that there are within that time."""
    for _ in range(int(seconds)):
        clock.time += 1.0
        ground.engine.wake_due()
        ground.settle()


def test_a_lock_that_a_dead_git_left_is_told_and_looked_at_ever_more_seldom(
    ground: LandingGround, clock: Turned
) -> None:
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    (ground.root / ".git" / "index.lock").touch()
    looks: list[float] = []

    def reached(name: str) -> None:
        if name == "landing.land.plan.before":
            looks.append(clock.time)

    ground.context.failpoints.reached = reached  # type: ignore[method-assign]
    name = ground.submit("mine")
    ground.settle()
    shown = ground.change(name)
    assert shown["state"] == "gating"
    assert "index.lock" in shown["why"]
    assert "if none is running, delete that file" in shown["why"]
    wait(ground, clock, 130)
    assert [round(b - a) for a, b in pairwise(looks)] == [2, 4, 8, 16, 32, 60]
    (ground.root / ".git" / "index.lock").unlink()
    wait(ground, clock, 61)
    shown = ground.change(name)
    assert (shown["state"], shown["why"]) == ("landed", "")


@ONLY_ROOT
def test_what_a_full_disk_kept_from_being_merged_is_no_conflict_and_lands_once_there_is_room(
    context: Context, clock: Turned, tmp_path: Path
) -> None:
    """Only where git says that two changes conflict has an author anything to mend."""
    (tmp_path / "home").mkdir()
    place = tmp_path / "small-disk"
    place.mkdir()
    with mounted(place, megabytes=12) as disk:
        files = {**CODE, ".windlass/config.toml": GATE}
        ground = gate_ground.make_as(LandingGround, context, place / "shop", files)
        ground.commit({"more.py": "more = 1\n"}, branch="mine")
        ground.commit({"other.py": "other = 1\n"})  # the merge is a tree that has to be written
        name = ground.submit("mine")
        disk.fill()
        ground.settle()
        shown = ground.change(name)
        assert shown["state"] in ("queued", "gating"), shown
        assert "room" in shown["why"], shown
        disk.make_room()
        wait(ground, clock, 5)
        shown = ground.change(name)
        assert (shown["state"], shown["why"]) == ("landed", "")


def test_a_target_that_moves_faster_than_the_gate_runs_is_told(ground: LandingGround) -> None:
    """What lands is proven on where the target is, so nothing lands as long as that goes on."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    change, said = ground.submit("mine"), list[str]()

    def reached(name: str) -> None:
        if name == "landing.try.try.after" and len(said) < 4:
            said.append(ground.change(change)["why"])
            ground.commit({f"person{len(said)}.py": ""})

    ground.context.failpoints.reached = reached  # type: ignore[method-assign]
    ground.settle()
    told = "main moved {} times while this was in the gate, and each time it is proven anew"
    assert said == ["", "", told.format(2), told.format(3)]
    shown = ground.change(change)
    assert (shown["state"], shown["why"]) == ("landed", "")


@pytest.mark.parametrize("is_green", [True, False])
def test_what_was_proven_before_the_person_had_a_stricter_gate_is_proven_by_that_one(
    ground: LandingGround, is_green: bool
) -> None:
    """It is the gate of the moment in which something lands that counts."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    ground.submit("mine")
    done: list[str] = []

    def reached(name: str) -> None:
        if name == "landing.try.try.after" and not done:
            check = "true" if is_green else "test ! -e more.py"
            strict = f'[[gate.check]]\nname = "strict"\nrun = "{check}"\ntests = "none"\n'
            (ground.context.folders.home / settings.USER_FILE).write_text(strict)
            done.append(name)

    ground.context.failpoints.reached = reached  # type: ignore[method-assign]
    ground.settle()
    assert ground.states() == {"mine": "landed" if is_green else "rejected"}
    assert (ground.root / "more.py").exists() is is_green
