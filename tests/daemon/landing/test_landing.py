"""Changes land when their very tree is proven, and come back with the evidence when it is not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.daemon.gate.gate_ground import BROKEN, CODE, GATE, PERSON
from tests.daemon.landing.landing_ground import LandingGround

from windlass.core.errors import Conflict
from windlass.daemon.landing.views import ChangeViews


def test_a_branch_lands_by_a_merge_of_the_proven_tree(ground: LandingGround) -> None:
    """Main moves to one plain merge, whose tree has a green verdict; the checkout goes along."""
    head = ground.commit({"more.py": "more = 1\n"}, branch="mine")
    before = ground.git("rev-parse", "main")
    name = ground.submit("mine")
    assert ground.change(name)["state"] == "queued"
    ground.settle()
    shown = ground.change(name)
    assert shown["state"] == "landed", shown
    assert ground.git("rev-parse", "main") == shown["commit"]
    assert ground.git("log", "-1", "--format=%P", "main").split() == [before, head]
    assert (ground.root / "more.py").read_text() == "more = 1\n"
    assert ground.git("status", "--porcelain") == ""
    assert ground.prove(shown["tree"])["cached"] is True


def test_a_red_change_comes_back_with_the_failing_test_and_main_stays(
    ground: LandingGround,
) -> None:
    """The ticket names the test and the line that shows it again."""
    ground.commit(BROKEN, branch="bad")
    before = ground.git("rev-parse", "main")
    name = ground.submit("bad")
    ground.settle()
    shown = ground.change(name)
    assert shown["state"] == "rejected"
    assert "test_adds" in shown["ticket"]["failed"][0]
    assert ground.git("rev-parse", "main") == before


def test_a_batch_is_one_first_parent_merge_without_the_bad_one(ground: LandingGround) -> None:
    """Every tree along main's own line is one that was proven."""
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
    for tree in ground.first_parents()[base:]:
        assert ground.prove(tree)["cached"] is True


def test_of_two_that_conflict_the_first_lands_and_the_other_is_told_where(
    ground: LandingGround,
) -> None:
    """It is a conflict only once the first has landed."""
    ground.commit({"same.txt": "one\n"}, branch="one")
    ground.commit({"same.txt": "two\n"}, branch="two")
    ground.submit("one")
    second = ground.submit("two")
    ground.settle()
    assert ground.states() == {"one": "landed", "two": "conflict"}
    assert ground.change(second)["ticket"]["paths"] == ["same.txt"]


def test_edits_of_the_persons_hold_only_the_change_that_overlaps_them(
    ground: LandingGround,
) -> None:
    """The other lands, and the edits stay as they are."""
    ground.commit({"calc.py": "def add(a, b):\n    return b + a\n"}, branch="over")
    ground.commit({"more.py": "more = 1\n"}, branch="beside")
    (ground.root / "calc.py").write_text("# mine\n")
    for branch in ("over", "beside"):
        ground.submit(branch)
    ground.settle()
    assert ground.states() == {"over": "held", "beside": "landed"}
    assert (ground.root / "calc.py").read_text() == "# mine\n"


@pytest.mark.parametrize(
    ("files", "states"),
    [
        (BROKEN, ["rejected", "rejected"]),
        ({"more.py": "more = 1\n"}, ["landed", "nothing-to-land"]),
    ],
)
def test_who_brings_the_same_as_another_waits_how_that_one_fares(
    ground: LandingGround, files: dict[str, str], states: list[str]
) -> None:
    """That the target has it already is said when it has, and not of what may yet come back."""
    ground.commit({"first.py": "first = 1\n"}, branch="first")
    ground.commit(files, branch="one")
    ground.git(
        "branch", "same", ground.git("commit-tree", "-p", "main", "-m", "same", "one^{tree}")
    )
    for branch in ("first", "one", "same"):
        ground.submit(branch)
    ground.settle()
    assert ground.states() == {"first": "landed", "one": states[0], "same": states[1]}


def test_a_branch_that_has_nothing_new_has_nothing_to_land(ground: LandingGround) -> None:
    """It is said, and nothing moves."""
    ground.git("branch", "same", "main")
    name = ground.submit("same")
    ground.settle()
    assert ground.change(name)["state"] == "nothing-to-land"


def test_on_a_red_target_nobody_is_sent_back_and_what_mends_it_lands(
    ground: LandingGround,
) -> None:
    """Somebody broke main from outside."""
    ground.commit(BROKEN)
    ground.commit({"more.py": "more = 1\n"}, branch="good")
    ground.submit("good")
    ground.settle()
    assert ground.states() == {"good": "held"}
    ground.commit({"calc.py": "def add(a, b):\n    return a + b\n"}, branch="cure")
    ground.submit("cure")
    ground.settle()
    assert ground.states() == {"good": "landed", "cure": "landed"}, "what was halted goes on"


def test_a_red_batch_with_one_that_waits_for_another_comes_to_an_end(
    ground: LandingGround,
) -> None:
    """What conflicts only with another that waits is tried once that has landed or left."""
    ground.commit({**BROKEN, "same.txt": "one\n"}, branch="bad")
    ground.commit({"same.txt": "two\n"}, branch="second")
    ground.submit("bad")
    ground.submit("second")
    ground.settle()
    assert ground.states() == {"bad": "rejected", "second": "landed"}


def test_a_change_that_needs_another_lands_after_it_and_is_held_where_that_comes_back(
    ground: LandingGround,
) -> None:
    """Never in a group without it."""
    ground.commit(BROKEN, branch="base")
    ground.commit({"more.py": "more = 1\n"}, branch="top")
    base = ground.submit("base")
    top = ground.submit("top", needs=[base])
    ground.settle()
    assert ground.states() == {"base": "rejected", "top": "held"}
    assert base in ground.change(top)["why"]
    ground.git("checkout", "-q", "base")
    (ground.root / "calc.py").write_text(CODE["calc.py"] + "# mended\n")
    ground.git("commit", "-qam", "mended")
    ground.git("checkout", "-q", "main")
    ground.submit("base")
    ground.settle()
    assert ground.states() == {"base": "landed", "top": "landed"}


def test_what_a_person_blocks_leaves_the_queue_until_it_is_approved(ground: LandingGround) -> None:
    """And what is dropped never lands."""
    ground.commit({"a.py": "a = 1\n"}, branch="a")
    ground.commit({"b.py": "b = 1\n"}, branch="b")
    a, b = ground.submit("a"), ground.submit("b")
    ground.judge("block", a, why="not today")
    ground.judge("drop", b)
    ground.settle()
    assert ground.states() == {"a": "held", "b": "dropped"}
    assert ground.change(a)["why"] == "blocked: not today"
    ground.judge("approve", a)
    ground.settle()
    assert ground.states() == {"a": "landed", "b": "dropped"}


def test_a_branch_that_is_called_like_a_change_is_not_taken_for_it(ground: LandingGround) -> None:
    """Who names both is asked; where there is no such change the branch is meant."""
    ground.commit({"mine.py": "mine = 1\n"}, branch="c1")
    ground.commit({"first.py": "first = 1\n"}, branch="first")
    first = ground.submit("first")
    assert first == "c1"
    with pytest.raises(Conflict, match="c1 is a change, of first, and a branch") as refused:
        ground.submit("c1")
    assert refused.value.hint == "say which: wl merge first, or wl merge refs/heads/c1"
    ground.settle()
    assert not (ground.root / "mine.py").exists()
    second = ground.submit("refs/heads/c1")
    ground.settle()
    assert ground.states() == {"first": "landed", "c1": "landed"}
    ground.commit({"third.py": "third = 1\n"}, branch="c3")
    assert ground.change(ground.submit("c3"))["branch"] == "c3"
    assert second == "c2"


def test_a_branch_that_is_to_be_deleted_is_so_with_its_next_revision(
    ground: LandingGround,
) -> None:
    """Said once, also while it waits already, it counts for what lands of it."""
    ground.commit(BROKEN, branch="bad")
    name = ground.submit("bad")
    ground.submit("bad", delete=True)
    ground.settle()
    assert ground.change(name)["state"] == "rejected"
    ground.git("checkout", "-q", "bad")
    (ground.root / "calc.py").write_text(CODE["calc.py"] + "# mended\n")
    ground.git("commit", "-qam", "mended")
    ground.git("checkout", "-q", "main")
    ground.submit("bad")
    (change,) = ground.changes()
    assert change.deletes


def test_a_new_revision_keeps_what_became_of_the_one_before(ground: LandingGround) -> None:
    """With its head, and the approval is not carried over."""
    head = ground.commit(BROKEN, branch="bad")
    name = ground.submit("bad")
    ground.settle()
    ground.git("checkout", "-q", "bad")
    (ground.root / "calc.py").write_text(CODE["calc.py"] + "# mended\n")
    ground.git("commit", "-qam", "mended")
    ground.git("checkout", "-q", "main")
    assert ground.submit("bad") == name
    ground.settle()
    shown = ground.change(name)
    assert [(r["revision"], r["state"]) for r in shown["revisions"]] == [
        (1, "rejected"),
        (2, "landed"),
    ]
    assert shown["revisions"][0]["head"] == head
    assert shown["verdict"] == "passed"


def test_what_the_gate_could_not_run_on_says_what_was_in_the_way(ground: LandingGround) -> None:
    """The reason of its setup, the end of that log, and the line that shows it again."""
    setup = 'setup = "echo no compiler here >&2; test ! -f break.txt"\ninputs = ["break.txt"]\n'
    ground.commit({".windlass/config.toml": f"{GATE}{setup}"})
    ground.commit({"break.txt": "x\n"}, branch="breaks")
    name = ground.submit("breaks")
    ground.settle()
    shown = ground.change(name)
    assert shown["state"] == "held"
    assert shown["why"].startswith("the gate could not run: gate.setup ended with 1"), shown["why"]
    ticket = shown["ticket"]
    assert ticket["why"] == shown["why"]
    assert ticket["outcome"] == "could-not-run"
    assert "no compiler here" in ticket["tail"]
    assert ticket["log"]
    assert ticket["reproduce"] == f"wl gate run {ticket['tree']} --fresh"


def test_what_waits_for_a_person_is_in_the_queue_and_what_landed_is_not_proposed_again(
    ground: LandingGround,
) -> None:
    """Its own row says that it landed; a new commit is a new change."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    ground.commit({"b.py": "b = 1\n"}, branch="b")
    first = ground.submit("mine")
    ground.settle()
    assert ground.submit("mine") == first
    assert ground.change("mine")["state"] == "landed"
    assert ground.states() == {"mine": "landed"}
    held = ground.submit("b")
    ground.judge("block", held, why="not now")
    ground.settle()
    views = ChangeViews(ground.context)
    asked: Any = {"cwd": str(ground.root)}
    assert [shown["id"] for shown in views.changes(PERSON, asked)["changes"]] == [held]
    said = views.unfinished(PERSON, asked)
    assert said["last"] is not None
    assert said["last"]["id"] == first
    assert said["gateless"] == ""
    ground.git("rm", "-q", ".windlass/config.toml")
    ground.git("commit", "-qm", "no gate")
    assert "has no gate" in views.unfinished(PERSON, asked)["gateless"]
