"""A checkout on a disk without room: nothing is half moved, and it lands once there is room."""

from __future__ import annotations

from pathlib import Path

from tests.daemon.landing.landing_ground import LandingGround
from tests.support.contexts import Turned
from tests.support.small_disk import ONLY_ROOT, mounted

pytestmark = ONLY_ROOT


def test_a_change_that_a_checkout_has_no_room_for_is_not_half_there(
    ground: LandingGround, clock: Turned, tmp_path: Path
) -> None:
    before = ground.git("rev-parse", "main")
    ground.commit({"large.txt": "large\n" * 700_000, "small.txt": "small\n"}, branch="mine")
    ground.git("switch", "-q", "-c", "parked")
    place = tmp_path / "small-disk"
    place.mkdir()
    with mounted(place, megabytes=8) as disk:
        checkout = place / "main"
        ground.git("worktree", "add", "-q", str(checkout), "main")
        disk.fill(but=1 << 20)
        name = ground.submit("mine")
        ground.settle()
        shown = ground.change(name)
        assert shown["state"] != "landed", shown
        assert "room" in shown["why"] or "space" in shown["why"], shown
        assert ground.git("rev-parse", "main") == before
        assert ground.git("-C", str(checkout), "status", "--porcelain") == ""
        assert not (checkout / "large.txt").exists()
        disk.make_room()
        clock.time += 700.0
        ground.engine.wake_due()
        if ground.change(name)["state"] == "held":
            ground.submit("mine")
        ground.settle()
        assert ground.change(name)["state"] == "landed"
        assert ground.git("-C", str(checkout), "status", "--porcelain") == ""
        assert (checkout / "large.txt").stat().st_size == 6 * 700_000
