"""What was proposed is kept until it is over, whatever becomes of its branch."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.daemon.landing.crew_ground import CrewGround
from tests.daemon.landing.landing_ground import LandingGround
from tests.support.workshop import Workshop, git


@pytest.fixture
def crew(workshop: Workshop) -> CrewGround:
    """Nobody is there yet."""
    return CrewGround(workshop)


def forget(root: Path, branch: str) -> None:
    """Deletes a branch, and has git clean up all that nothing names."""
    git(root, "branch", "-q", "-D", branch)
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "gc", "-q", "--prune=now")


def test_what_waits_for_another_lands_though_its_branch_is_gone(ground: LandingGround) -> None:
    """It was held from the first, and never tried."""
    ground.commit({"m0.py": "m = 0\n"}, branch="b0")
    base = ground.submit("b0")
    ground.judge("block", base, why="not today")
    ground.commit({"m1.py": "m = 1\n"}, branch="b1")
    top = ground.submit("b1", needs=[base])
    assert ground.change(top)["state"] == "held"
    forget(ground.root, "b1")
    ground.judge("approve", base)
    ground.settle()
    assert ground.states() == {"b0": "landed", "b1": "landed"}


def test_what_an_agent_proposed_by_itself_is_kept_while_it_waits_for_the_person(
    crew: CrewGround,
) -> None:
    """Also where the agent rewrites its branch meanwhile."""
    fox = crew.worker("fox", land=True)
    head = crew.commit(fox, {"more.py": "more = 1\n"})
    crew.complete(fox)
    crew.settle()
    assert crew.change("c1")["state"] == "held"
    place = Path(fox.workspace)
    git(place, "commit", "-q", "--amend", "-m", "another")
    git(place, "reflog", "expire", "--expire=now", "--all")
    git(crew.root, "gc", "-q", "--prune=now")
    assert git(crew.root, "cat-file", "-t", head).strip() == "commit"
    crew.workshop.ask("approve", change="c1")
    crew.settle()
    assert crew.change("c1")["state"] == "landed"


def test_a_pin_goes_with_what_it_is_for(ground: LandingGround) -> None:
    """Nothing is kept for ever."""
    ground.commit({"m0.py": "m = 0\n"}, branch="b0")
    ground.submit("b0")
    ground.settle()
    ground.commit({"m1.py": "m = 1\n"}, branch="b1")
    other = ground.submit("b1")
    refs = ground.git("for-each-ref", "--format=%(refname)", "refs/windlass/changes/")
    assert refs.split() == [f"refs/windlass/changes/{other}"]
