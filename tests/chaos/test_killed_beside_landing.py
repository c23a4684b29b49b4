"""The daemon ends with -9 before and after every step of what is done beside a landing.

A change goes back, is proposed by itself, loses its author, waits for a pull request, is taken
back: each happens once, and is told once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.chaos.test_killed_between_effects import HELLO, NOTHING, arm
from tests.chaos.test_killed_while_landing import gated
from tests.support.ground import Ground, until

from windlass.daemon.kernel.operations import Operation
from windlass.daemon.landing.orphans import Orphans
from windlass.daemon.landing.proposals import Proposals
from windlass.daemon.landing.pull_requests import PullRequests
from windlass.daemon.landing.stops import Stops
from windlass.daemon.landing.undos import LandingUndos

pytestmark = pytest.mark.slow

_LOOK = PullRequests(NOTHING, NOTHING, NOTHING, NOTHING).operation()
_UNDO = LandingUndos(NOTHING, NOTHING, NOTHING).operation()


def points(operation: Operation) -> list[Any]:
    """Before and after every step, and its end: one at once, the others in the long runs."""
    steps = [*(step.name for step in operation.steps), "finish"]
    every = [f"{operation.kind}.{step}.{when}" for step in steps for when in ("before", "after")]
    now = f"{operation.kind}.{steps[0]}.after"
    return [pytest.param(p, marks=[] if p == now else [pytest.mark.soak]) for p in every]


def branch(ground: Ground, name: str, file: str) -> None:
    """A branch of the person's that brings a file."""
    ground.git("checkout", "-q", "-b", name, "main")
    (ground.folder / "repo" / file).write_text(f"{name}\n")
    ground.git("add", "-A")
    ground.git("commit", "-q", "-m", name)
    ground.git("checkout", "-q", "main")


def over(ground: Ground, armed: Path) -> None:
    """Waits until a daemon died at the point, and the next one has done what was left."""
    until(lambda: not armed.exists(), what="the daemon's end")

    def is_done() -> bool:
        jobs = ground.wl("dev", "jobs", "--all", "--json").ok().json()
        return not any(job["effects"] for job in jobs)

    until(is_done, what="what was left")


def told(ground: Ground, what: str, *words: str) -> int:
    """How many events of a kind there are whose text has all of these words."""
    events = [event["data"] for event in ground.events() if event["kind"] == what]
    return len([data for data in events if all(word in str(data) for word in words)])


@pytest.mark.parametrize("point", points(Stops(NOTHING, NOTHING).operation()))
def test_a_change_goes_back_once_by_a_daemon_killed_at(ground: Ground, point: str) -> None:
    """With one attempt counted, and one notice."""
    gated(ground)
    branch(ground, "mine", "bad.txt")
    armed = arm(ground, point)
    assert ground.wl("merge", "mine", "--json").code == 10
    over(ground, armed)
    shown = ground.wl("show", "c1", "--json").ok().json()
    assert (shown["state"], shown["attempts"]) == ("rejected", 1)
    assert told(ground, "change.stopped") == 1
    assert told(ground, "notice.posted", "c1 did not land") == 1


@pytest.mark.parametrize("point", points(Proposals(NOTHING, NOTHING).operation()))
def test_an_agent_proposes_once_by_a_daemon_killed_at(ground: Ground, point: str) -> None:
    """And what it has lands."""
    gated(ground)
    ground.wl("config", "set", "landing.review", "none", "--global").ok()
    armed = arm(ground, point)
    ground.new("a1", *HELLO, flags=("--land",))
    over(ground, armed)
    until(lambda: not ground.agents(), what="the agent's end")
    assert ground.wl("show", "c1", "--json").ok().json()["state"] == "landed"
    assert (told(ground, "change.queued"), told(ground, "change.landed")) == (1, 1)


@pytest.mark.parametrize("point", points(Orphans(NOTHING).operation()))
def test_a_draft_goes_with_its_author_once_by_a_daemon_killed_at(
    ground: Ground, point: str
) -> None:
    """The person hears of it once."""
    gated(ground)
    ground.new("a1", *HELLO[:-1], {"text": "there is more"}, flags=("--land",))
    armed = arm(ground, point)
    ground.wl("kill", "a1", "--force").ok()
    over(ground, armed)
    assert ground.wl("show", "c1", "--json").ok().json()["state"] == "dropped"
    assert told(ground, "change.stopped") == 1
    assert told(ground, "notice.posted", "draft c1 is dropped") == 1


@pytest.mark.parametrize("point", points(_LOOK))
def test_a_pull_request_lands_once_by_a_daemon_killed_at(ground: Ground, point: str) -> None:
    """Merged elsewhere, it is here too."""
    ground.env["WINDLASS_CLOCK_SCALE"] = "60"
    gated(ground)
    there = ground.folder / "there.git"
    ground.git("init", "-q", "--bare", "-b", "main", str(there))
    ground.git("remote", "add", "origin", str(there))
    ground.git("push", "-q", "origin", "main")
    ground.wl("config", "set", "landing.mode", "pr", "--global").ok()
    branch(ground, "mine", "more.txt")
    assert ground.wl("merge", "mine", "--json").code == 15
    armed = arm(ground, point)
    ground.git("update-ref", "refs/heads/main", "windlass/c1", cwd=there)
    ground.wl("queue").ok()
    until(
        lambda: ground.wl("show", "c1", "--json").ok().json()["state"] == "landed",
        what="the landing",
    )
    over(ground, armed)
    assert told(ground, "change.landed") == 1
    theirs = ground.git("rev-parse", "main", cwd=there)
    until(lambda: ground.git("rev-parse", "main") == theirs, what="the branch here")
    assert ground.git("status", "--porcelain") == ""


@pytest.mark.parametrize("point", points(_UNDO))
@pytest.mark.parametrize("way", ["back", "revert"])
def test_a_landing_is_taken_back_once_by_a_daemon_killed_at(
    ground: Ground, way: str, point: str
) -> None:
    """By the way back where nothing followed it, else by one revert."""
    gated(ground)
    before = ground.git("rev-parse", "main")
    branch(ground, "mine", "more.txt")
    ground.wl("merge", "mine").ok()
    if way == "revert":
        branch(ground, "yours", "other.txt")
        ground.wl("merge", "yours").ok()
    armed = arm(ground, point)
    ground.wl("undo", "c1", "--yes").ok()
    over(ground, armed)
    assert not (ground.folder / "repo" / "more.txt").exists()
    assert ground.git("status", "--porcelain") == ""
    if way == "back":
        assert ground.git("rev-parse", "main") == before
        assert ground.wl("show", "c1", "--json").ok().json()["state"] == "dropped"
        assert told(ground, "change.stopped") == 1
    else:
        changes = ground.wl("queue", "--all", "--json").ok().json()
        reverts = [change["state"] for change in changes if change["reverts"] == "c1"]
        assert reverts == ["landed"]
