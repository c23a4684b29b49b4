"""With `landing.method = "squash"` the target has one commit for each landing, and a straight line.

What landed so is known to have landed: its branch is compared with it as after a merge.
"""

from __future__ import annotations

import pytest
from tests.daemon.gate.gate_ground import BROKEN, Killed
from tests.daemon.landing.landing_ground import LandingGround

from windlass.daemon.kernel import settings


@pytest.fixture(autouse=True)
def squash(ground: LandingGround) -> None:
    """The person has chosen so."""
    settings.put(ground.context.folders.home / settings.USER_FILE, "landing.method", "squash")


def parents(ground: LandingGround) -> list[list[str]]:
    """The parents of main's commits, the newest first."""
    return [line.split() for line in ground.git("log", "--format=%P", "main").splitlines()]


def go_on(ground: LandingGround, branch: str, files: dict[str, str], *, merges: str = "") -> str:
    """Commits on a branch that is there, which may merge another one before."""
    ground.git("checkout", "-q", branch)
    if merges:
        ground.git("merge", "-q", "--no-edit", "-X", "theirs", merges)
    for name, text in files.items():
        (ground.root / name).write_text(text)
    ground.git("add", "-A")
    ground.git("commit", "-q", "-m", "on")
    head = ground.git("rev-parse", "HEAD")
    ground.git("checkout", "-q", "main")
    return head


def test_a_branch_of_several_commits_lands_as_one_with_one_parent(ground: LandingGround) -> None:
    """Its tree is the proven one, its message says what it is, and the checkout goes along."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    head = go_on(ground, "mine", {"other.py": "other = 1\n"})
    before = ground.git("rev-parse", "main")
    name = ground.submit("mine", title="More and other", task="FIX-1")
    ground.settle()
    shown = ground.change(name)
    assert shown["state"] == "landed", shown
    assert ground.git("rev-parse", "main") == shown["commit"]
    assert ground.git("log", "-1", "--format=%P", "main") == before
    assert ground.prove(shown["tree"])["cached"] is True
    said = ground.git("log", "-1", "--format=%B", "main").splitlines()
    assert said[0] == "More and other"
    assert {f"Windlass-Change: {name}", "Windlass-Task: FIX-1", "Windlass-Verdict: passed"} <= {
        *said
    }
    assert (ground.root / "other.py").read_text() == "other = 1\n"
    assert ground.git("status", "--porcelain") == ""
    # What was squashed is kept from git's clean-up, also where its branch goes.
    ground.git("branch", "-q", "-D", "mine")
    ground.git("reflog", "expire", "--expire=now", "--all")
    ground.git("gc", "-q", "--prune=now")
    assert ground.git("cat-file", "-t", head) == "commit"


def test_several_land_as_one_commit_whose_tree_is_proven(ground: LandingGround) -> None:
    """A commit for each would have trees on the target that nobody has gated."""
    for number in range(4):
        ground.commit({f"m{number}.py": f"m = {number}\n"}, branch=f"b{number}")
    ground.commit({**BROKEN, "bad.py": "bad = 1\n"}, branch="bad")
    base = len(ground.first_parents())
    for branch in ("b0", "b1", "bad", "b2", "b3"):
        ground.submit(branch)
    ground.settle()
    assert ground.states() == {
        "b0": "landed", "b1": "landed", "bad": "rejected", "b2": "landed", "b3": "landed",
    }  # fmt: skip
    landed = ground.first_parents()[base:]
    assert 0 < len(landed) < 4
    for tree in landed:
        assert ground.prove(tree)["cached"] is True
    assert all(len(own) < 2 for own in parents(ground))
    assert int(ground.git("rev-list", "--count", "main")) == base + len(landed)


def test_what_has_landed_has_nothing_to_land_whatever_came_after_it(ground: LandingGround) -> None:
    """Plain git would call the branch new, and have it conflict with what followed."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    ground.submit("mine")
    ground.settle()
    ground.commit({"more.py": "more = 2\n"}, branch="after")
    ground.submit("after")
    ground.settle()
    ground.git("branch", "once-more", "mine")
    name = ground.submit("once-more")
    ground.settle()
    assert ground.change(name)["state"] == "nothing-to-land", ground.change(name)
    assert (ground.root / "more.py").read_text() == "more = 2\n"
    # A person's own commit follows: it is known all the same.
    ground.commit({"more.py": "more = 3\n"})
    again = ground.submit("once-more")
    ground.settle()
    assert ground.change(again)["state"] == "nothing-to-land"


@pytest.mark.parametrize("merges", ["", "main"])
def test_a_branch_that_goes_on_lands_what_is_new(ground: LandingGround, merges: str) -> None:
    """Its lines have changed on the target since; it may have merged that, or not."""
    ground.commit({"more.py": "more = 1\n", "far.py": "far = 1\n"}, branch="mine")
    ground.submit("mine")
    ground.settle()
    ground.commit({"more.py": "more = 2\n"}, branch="after")
    ground.submit("after")
    ground.settle()
    new = {"more.py": "more = 3\n"} if merges else {"far.py": "far = 2\n"}
    go_on(ground, "mine", new, merges=merges)
    name = ground.submit("mine")
    ground.settle()
    assert ground.change(name)["state"] == "landed", ground.change(name)
    assert (ground.root / "more.py").read_text() == ("more = 3\n" if merges else "more = 2\n")
    assert (ground.root / "far.py").read_text() == ("far = 1\n" if merges else "far = 2\n")
    assert all(len(own) < 2 for own in parents(ground))


def test_a_branch_upon_another_that_landed_lands_its_own_part(ground: LandingGround) -> None:
    """It began where the other was, which the target has in one commit."""
    ground.commit({"more.py": "more = 1\n"}, branch="below")
    ground.git("branch", "above", "below")
    go_on(ground, "above", {"more.py": "more = 2\n"})
    ground.submit("below")
    ground.settle()
    name = ground.submit("above")
    ground.settle()
    assert ground.change(name)["state"] == "landed", ground.change(name)
    assert (ground.root / "more.py").read_text() == "more = 2\n"


@pytest.mark.parametrize(
    "point",
    [
        *("landing.land.plan.after", "landing.land.keep.before", "landing.land.keep.after"),
        *("landing.land.apply.before", "landing.land.apply.after"),
    ],
)
def test_a_daemon_that_dies_lands_it_once(ground: LandingGround, point: str) -> None:
    """The next one goes on where it was."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    before = ground.git("rev-parse", "main")
    name = ground.submit("mine")
    ground.dies_at = point
    with pytest.raises(Killed):
        ground.settle()
    ground.start_daemon()
    ground.settle()
    assert ground.change(name)["state"] == "landed"
    assert ground.git("log", "-1", "--format=%P", "main") == before
    ground.git("branch", "once-more", "mine")
    again = ground.submit("once-more")
    ground.settle()
    assert ground.change(again)["state"] == "nothing-to-land"


def test_a_ticket_does_not_name_what_the_branch_has_itself(ground: LandingGround) -> None:
    """It began upon another that has landed since, as one commit."""
    ground.commit({"same.txt": "1\n"}, branch="mine")
    ground.git("checkout", "-q", "-b", "upon", "mine")
    (ground.root / "same.txt").write_text("2\n")
    ground.git("commit", "-q", "-am", "upon")
    ground.git("checkout", "-q", "main")
    ground.submit("mine")
    ground.settle()
    ground.commit({"same.txt": "3\n"}, branch="other")
    other = ground.submit("other")
    ground.settle()
    name = ground.submit("upon")
    ground.settle()
    shown = ground.change(name)
    assert shown["state"] == "conflict"
    (landed,) = shown["ticket"]["landed"]
    assert landed.startswith(ground.change(other)["commit"][:10])
