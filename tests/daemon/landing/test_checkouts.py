"""Checkouts of the target when it moves: all go along, or wait, or are left behind if wanted."""

from __future__ import annotations

import subprocess
from functools import partial
from pathlib import Path
from typing import Any

from tests.daemon.gate.gate_ground import PERSON
from tests.daemon.landing.landing_ground import LandingGround
from tests.support.contexts import Turned

from windlass.daemon.kernel.requests import IntentVerb
from windlass.store import rows

OVER = {"calc.py": "def add(a, b):\n    return b + a\n"}

EMPTY = ("commit", "-q", "--allow-empty", "-m")


def second(ground: LandingGround, tmp_path: Path) -> Path:
    """A second checkout of the target: git makes one where it is told to."""
    place = tmp_path / "other"
    ground.git("worktree", "add", "-q", "-f", str(place), "main")
    return place


def at(ground: LandingGround, place: Path) -> tuple[str, str]:
    """The branch that a checkout is on, and what differs there from its commit."""
    branch = ground.git("-C", str(place), "rev-parse", "--abbrev-ref", "HEAD")
    return branch, ground.git("-C", str(place), "status", "--porcelain")


def test_every_checkout_of_the_target_goes_along(ground: LandingGround, tmp_path: Path) -> None:
    """Whoever commits in one of them commits nothing but their own edits."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    other = second(ground, tmp_path)
    (other / "notes.txt").write_text("mine\n")
    ground.submit("mine")
    ground.settle()
    assert ground.states() == {"mine": "landed"}
    assert at(ground, ground.root) == ("main", "")
    assert at(ground, other) == ("main", "?? notes.txt")
    assert (other / "more.py").exists()


def test_edits_in_any_of_them_hold_what_overlaps_them(
    ground: LandingGround, tmp_path: Path
) -> None:
    """No checkout has moved, not even the one that could have."""
    ground.commit(OVER, branch="over")
    other = second(ground, tmp_path)
    (other / "calc.py").write_text("# mine\n")
    ground.submit("over")
    ground.settle()
    assert ground.states() == {"over": "held"}
    (held,) = ground.changes()
    said = f"your edits of calc.py are in the way, in {other}; commit or stash them, then try again"
    assert held.why == said, "in our words, and not in those of git's merge"
    assert at(ground, ground.root) == ("main", "")
    assert (other / "calc.py").read_text() == "# mine\n"


def test_a_checkout_in_the_way_is_left_behind_where_that_is_wanted(
    ground: LandingGround, tmp_path: Path
) -> None:
    """It keeps everything, and is on no branch: its next commit reverts nothing."""
    before = ground.git("rev-parse", "main")
    ground.commit(OVER, branch="over")
    other = second(ground, tmp_path)
    (other / "calc.py").write_text("# mine\n")
    ground.submit("over", unattended=True)
    ground.settle()
    assert ground.states() == {"over": "landed"}
    assert at(ground, ground.root) == ("main", "")
    assert at(ground, other) == ("HEAD", " M calc.py".strip())
    assert ground.git("-C", str(other), "rev-parse", "HEAD") == before
    assert (other / "calc.py").read_text() == "# mine\n"


def test_while_another_git_is_at_work_it_waits_and_then_lands(
    ground: LandingGround, clock: Turned
) -> None:
    """Nobody has to propose it again."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    ground.submit("mine")
    lock = ground.root / ".git" / "index.lock"
    lock.touch()
    ground.settle()
    assert ground.states() == {"mine": "gating"}
    lock.unlink()
    clock.time += 5.0
    ground.engine.wake_due()
    ground.settle()
    assert ground.states() == {"mine": "landed"}


def test_while_the_person_rebases_the_target_it_waits_and_says_so(
    ground: LandingGround, clock: Turned
) -> None:
    """What landed meanwhile would be undone by the end of the rebase."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    ground.commit({"own.py": "own = 1\n"})
    onto = ground.git("commit-tree", "-p", "main~1", "-m", "onto", "main~1^{tree}")
    rebase = ["git", "rebase", "-q", "-x", "false", onto]
    assert subprocess.run(rebase, cwd=ground.root, capture_output=True, check=False).returncode == 1
    name = ground.submit("mine")
    for _ in range(4):
        ground.settle()
        clock.time += 70.0
        ground.engine.wake_due()
    assert ground.states() == {"mine": "gating"}
    said = f"main is being rebased in {ground.root}; it waits for the end of that:"
    assert ground.change(name)["why"].startswith(said)
    ground.git("rebase", "--abort")
    ground.settle()
    assert ground.states() == {"mine": "landed"}
    assert at(ground, ground.root) == ("main", "")
    assert (ground.root / "more.py").exists()
    assert not ground.change(name)["why"]


def test_a_worktree_that_is_away_is_left_behind_and_that_is_said(
    ground: LandingGround, tmp_path: Path
) -> None:
    before = ground.git("rev-parse", "main")
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    other = second(ground, tmp_path)
    ground.git("worktree", "lock", str(other))
    other.rename(tmp_path / "shelf")
    ground.submit("mine")
    ground.settle()
    assert ground.states() == {"mine": "landed"}
    posted = ground.context.store.read(partial(rows.events, kind="notice.posted"))
    told = [event.data["text"] for event in posted]
    assert (
        told[-1]
        == f"{other} is left behind, detached at {before[:10]}: it was not there to go along"
    )
    (tmp_path / "shelf").rename(other)
    assert at(ground, other) == ("HEAD", "")


def test_what_a_filter_of_the_persons_cannot_write_is_held_and_lands_when_it_can(
    ground: LandingGround,
) -> None:
    """As where an LFS file cannot be fetched: the checkout is as it was, and others land."""
    ground.commit({".gitattributes": "*.sec filter=rot\n"})
    ground.commit({"new.sec": "arj\n"}, branch="secret")
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    ground.git("config", "filter.rot.required", "true")
    ground.git("config", "filter.rot.smudge", "echo no key >&2; false")
    name = ground.submit("secret")
    ground.submit("mine")
    ground.settle()
    assert ground.states() == {"secret": "held", "mine": "landed"}
    assert ground.change(name)["why"].startswith("your git filters do not write new.sec: ")
    assert at(ground, ground.root) == ("main", "")
    ground.git("config", "filter.rot.smudge", "tr n-za-m a-z")
    ground.git("config", "filter.rot.clean", "tr a-z n-za-m")
    ground.submit("secret")
    ground.settle()
    assert ground.states() == {"secret": "landed", "mine": "landed"}
    assert (ground.root / "new.sec").read_text() == "new\n"
    assert at(ground, ground.root) == ("main", "")


def test_a_submodule_that_stays_where_it_was_is_told_with_the_landing(
    ground: LandingGround, tmp_path: Path
) -> None:
    """The person's next commit of everything would take back that it moved."""
    library = tmp_path / "library"
    for words in (["init", "-q", str(library)], ["-C", str(library), *EMPTY, "one"]):
        ground.git(*words)
    ground.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    ground.git("commit", "-q", "-m", "lib")
    ground.git("-C", str(library), *EMPTY, "two")
    newer = ground.git("-C", str(library), "rev-parse", "HEAD")
    ground.git("switch", "-q", "-c", "newer")
    ground.git("update-index", "--cacheinfo", f"160000,{newer},lib")
    ground.git("commit", "-q", "-m", "newer lib")
    ground.git("switch", "-q", "main")
    name = ground.submit("newer")
    ground.settle()
    assert ground.states() == {"newer": "landed"}
    said = f"the submodule lib stays where it was in {ground.root}: git submodule update there"
    assert ground.change(name)["why"].startswith(said)


def test_what_is_not_committed_of_a_branch_that_is_checked_out_is_named(
    ground: LandingGround,
) -> None:
    """It does not land, and who forgot to add a file hears of it."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    ground.git("checkout", "-q", "mine")
    (ground.root / "more.py").write_text("more = 2\n")
    (ground.root / "new.py").write_text("new = 1\n")
    verb = IntentVerb(ground.intents, "submit", ground.submissions.begin)
    asked: Any = {"cwd": str(ground.root), "change": "mine"}
    proposed = verb(PERSON, asked)
    assert proposed["left_out"] == ["more.py", "new.py"]
    ground.settle()
    assert ground.states() == {"mine": "landed"}
    assert "new.py" not in ground.git("ls-tree", "--name-only", "main")
