"""A daemon that dies once the target has moved: the next one knows that it has landed."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from tests.daemon.gate.gate_ground import Killed
from tests.daemon.landing.landing_ground import LandingGround

from windlass.daemon.gate import green
from windlass.store import rows

MOVED = "landing.land.apply.after"
"""The target has moved, and nothing says so yet."""


def die(ground: LandingGround) -> None:
    """Dies where the target has moved."""
    ground.dies_at = MOVED
    with pytest.raises(Killed):
        ground.settle()


def go_on(ground: LandingGround) -> None:
    """The next daemon."""
    ground.start_daemon()
    ground.settle()


def test_what_landed_has_landed_also_below_a_commit_of_the_persons(ground: LandingGround) -> None:
    """Who committed on top in between has not undone it."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    die(ground)
    moved = ground.git("rev-parse", "main")
    ground.commit({"own.txt": "own\n"})
    go_on(ground)
    shown = ground.change(name)
    assert (shown["state"], shown["commit"]) == ("landed", moved)
    assert ground.git("rev-parse", "main^") == moved
    assert ground.git("status", "--porcelain") == ""
    assert ground.git("rev-parse", green.REF) == moved


def test_a_target_that_somebody_moved_away_meanwhile_has_nothing_of_it(
    ground: LandingGround,
) -> None:
    """It is tried again on what is there now."""
    before = ground.git("rev-parse", "main")
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    die(ground)
    ground.git("reset", "-q", "--hard", before)
    own = ground.commit({"own.txt": "own\n"})
    go_on(ground)
    shown = ground.change(name)
    assert (shown["state"], shown["was"]) == ("landed", own)


def test_that_a_checkout_is_left_behind_is_told_by_the_next_daemon(
    ground: LandingGround, tmp_path: Path
) -> None:
    """It is detached already, and nothing else would say why."""
    ground.commit({"calc.py": "def add(a, b):\n    return b + a\n"}, branch="over")
    other = tmp_path / "other"
    ground.git("worktree", "add", "-q", "-f", str(other), "main")
    (other / "calc.py").write_text("# mine\n")
    ground.submit("over", unattended=True)
    die(ground)
    go_on(ground)
    assert ground.states() == {"over": "landed"}
    posted = ground.context.store.read(partial(rows.events, kind="notice.posted"))
    told = [event.data["text"] for event in posted]
    assert [text for text in told if f"{other} is left behind" in text]


def test_no_green_ref_does_not_make_a_landing_fail(ground: LandingGround) -> None:
    """Something else stands where it would be."""
    ground.git("update-ref", f"{green.REF}/in-the-way", "main")
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    ground.settle()
    assert ground.change(name)["state"] == "landed"
