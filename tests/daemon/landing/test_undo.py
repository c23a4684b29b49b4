"""What landed is taken back: the target goes back, or a revert lands; and it can land once more."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.daemon.gate.gate_ground import BROKEN
from tests.daemon.landing.crew_ground import CrewGround
from tests.support.workshop import Workshop, git

from windlass.core.errors import Conflict
from windlass.daemon.gate import green
from windlass.daemon.kernel import settings


@pytest.fixture(params=("merge", "squash"))
def crew(workshop: Workshop, request: pytest.FixtureRequest) -> CrewGround:
    """Nobody is there yet; whatever a landing is on the target, it is taken back alike."""
    file = workshop.context.folders.home / settings.USER_FILE
    settings.put(file, "landing.method", request.param)
    return CrewGround(workshop)


def branch(crew: CrewGround, name: str, files: dict[str, str], *, since: str = "main") -> str:
    """Commits on a branch of the person's, which begins where it is said."""
    known = git(crew.root, "branch", "--list", name).strip()
    git(crew.root, "checkout", "-q", *((name,) if known else ("-b", name, since)))
    crew.write(crew.root, files)
    git(crew.root, "add", "-A")
    git(crew.root, "commit", "-q", "-m", f"{name} once more")
    head = git(crew.root, "rev-parse", "HEAD").strip()
    git(crew.root, "checkout", "-q", "main")
    return head


def land(crew: CrewGround, *names: str) -> list[str]:
    """Proposes branches and has them land together; their changes."""
    changes = [crew.workshop.ask("submit", change=name)["id"] for name in names]
    crew.settle()
    assert [crew.change(name)["state"] for name in changes] == ["landed"] * len(changes)
    return changes


def undo(crew: CrewGround, name: str) -> dict[str, object]:
    """Takes a change back, with whatever that has to wait for."""
    made = crew.workshop.ask("change.undo", change=name)
    crew.settle()
    return crew.change(made["id"])


def test_what_nothing_followed_is_taken_off_the_target(crew: CrewGround) -> None:
    """The checkout goes along, with what the person has in it; the branch can land again."""
    branch(crew, "mine", {"more.py": "more = 1\n"})
    before = crew.main()
    (name,) = land(crew, "mine")
    (crew.root / "notes.txt").write_text("the person's\n")
    back = undo(crew, name)
    assert (back["id"], back["state"]) == (name, "dropped")
    assert crew.main() == before
    assert git(crew.root, "for-each-ref", green.REF) == "", "nobody has judged that one"
    assert not (crew.root / "more.py").exists()
    assert (crew.root / "notes.txt").read_text() == "the person's\n"
    assert git(crew.root, "status", "--porcelain", "-uno") == ""
    land(crew, "mine")
    assert (crew.root / "more.py").exists()


@pytest.mark.parametrize("who", ["branch", "agent", "detached"])
def test_what_somebody_has_begun_on_is_reverted_so_that_they_do_not_bring_it_back(
    crew: CrewGround, tmp_path: Path, who: str
) -> None:
    """Taken off the target, it would come again with their own landing, without a word."""
    branch(crew, "mine", {"more.py": "more = 1\n"})
    (mine,) = land(crew, "mine")
    if who == "branch":
        branch(crew, "theirs", {"theirs.py": "theirs = 1\n"})
    elif who == "agent":
        crew.commit(crew.worker("theirs"), {"theirs.py": "theirs = 1\n"})
    else:
        git(crew.root, "worktree", "add", "-q", "--detach", str(tmp_path / "beside"))
    revert = undo(crew, mine)
    assert (revert["state"], revert["reverts"]) == ("landed", mine)
    assert not (crew.root / "more.py").exists()
    if who == "detached":
        return
    land(crew, "theirs")
    assert (crew.root / "theirs.py").exists()
    assert not (crew.root / "more.py").exists()


def test_what_is_proven_goes_back_with_what_is_taken_back(crew: CrewGround) -> None:
    """Else agents would be refreshed onto what nobody wants."""
    for number in range(2):
        branch(crew, f"b{number}", {f"m{number}.py": "m = 1\n"})
    land(crew, "b0")
    first = crew.main()
    (second,) = land(crew, "b1")
    assert git(crew.root, "rev-parse", green.REF).strip() == crew.main()
    undo(crew, second)
    assert git(crew.root, "rev-parse", green.REF).strip() == first == crew.main()


def test_what_something_followed_is_reverted_by_a_change_of_its_own(crew: CrewGround) -> None:
    """Which is gated; afterwards its branch lands whole again, with what came since."""
    branch(crew, "mine", {"more.py": "more = 1\n"})
    branch(crew, "yours", {"other.py": "other = 1\n"})
    (mine,) = land(crew, "mine")
    land(crew, "yours")
    revert = undo(crew, mine)
    assert (revert["state"], revert["reverts"]) == ("landed", mine)
    assert not (crew.root / "more.py").exists()
    assert (crew.root / "other.py").exists()
    assert f"Windlass-Reverts: {mine}" in git(crew.root, "log", "-1", "--format=%B", "main")
    assert git(crew.root, "branch", "--list", "revert-*") == ""
    with pytest.raises(Conflict, match=f"taken back by {revert['id']}"):
        crew.workshop.ask("change.undo", change=mine)
    branch(crew, "mine", {"again.py": "again = 1\n"})
    land(crew, "mine")
    assert (crew.root / "more.py").read_text() == "more = 1\n"
    assert (crew.root / "again.py").exists()
    # It is there now: the next revision brings what is new, and does not fight over the rest.
    branch(crew, "mine", {"more.py": "more = 2\n"})
    land(crew, "mine")
    assert (crew.root / "more.py").read_text() == "more = 2\n"


def test_one_of_several_that_landed_together_is_taken_back_alone(crew: CrewGround) -> None:
    """The others stay."""
    for name in ("one", "two", "three"):
        branch(crew, name, {f"{name}.py": "x = 1\n"})
    names = land(crew, "one", "two", "three")
    assert crew.change(names[1])["commit"] == crew.change(names[2])["commit"]
    revert = undo(crew, names[1])
    assert revert["state"] == "landed"
    assert [Path(crew.root / f"{n}.py").exists() for n in ("one", "two", "three")] == [
        True,
        False,
        True,
    ]


def test_what_is_pushed_already_is_reverted(crew: CrewGround, tmp_path: Path) -> None:
    """Others may have it."""
    branch(crew, "mine", {"more.py": "more = 1\n"})
    (name,) = land(crew, "mine")
    git(tmp_path, "init", "-q", "--bare", "elsewhere")
    git(crew.root, "remote", "add", "origin", str(tmp_path / "elsewhere"))
    git(crew.root, "push", "-q", "origin", "main")
    landed = crew.main()
    revert = undo(crew, name)
    assert (revert["state"], revert["was"]) == ("landed", landed)


@pytest.mark.parametrize("words", [("v1",), ("-a", "-m", "first", "v1")])
def test_what_is_tagged_is_reverted(crew: CrewGround, words: tuple[str, ...]) -> None:
    """A release is somewhere else by now, or is about to be: main is not moved to before it."""
    branch(crew, "mine", {"more.py": "more = 1\n"})
    (name,) = land(crew, "mine")
    git(crew.root, "tag", *words)
    tagged = crew.main()
    back = undo(crew, name)
    assert (back["state"], back["reverts"]) == ("landed", name)
    git(crew.root, "merge-base", "--is-ancestor", tagged, "main")
    assert not (crew.root / "more.py").exists()


def test_what_is_not_in_a_repository_made_anew_at_the_same_place_is_not_taken_back(
    crew: CrewGround,
) -> None:
    branch(crew, "mine", {"more.py": "more = 1\n"})
    (name,) = land(crew, "mine")
    shutil.rmtree(crew.root / ".git")
    git(crew.root, "init", "-q", "-b", "main")
    git(crew.root, "add", "-A", "-f")
    git(crew.root, "commit", "-q", "-m", "anew")
    with pytest.raises(Conflict, match="has not got that any more"):
        crew.workshop.ask("change.undo", change=name)


def test_what_is_gone_from_the_target_and_the_repository_can_be_proposed_once_more(
    crew: CrewGround,
) -> None:
    """The person has reset main to before it, and git has cleaned up since."""
    before = crew.main()
    branch(crew, "mine", {"more.py": "more = 1\n"})
    (name,) = land(crew, "mine")
    git(crew.root, "reset", "-q", "--hard", before)
    branch(crew, "other", {"other.py": "other = 1\n"})
    land(crew, "other")
    git(crew.root, "reflog", "expire", "--expire=now", "--all")
    for ref in git(crew.root, "for-each-ref", "--format=%(refname)", "refs/windlass").split():
        git(crew.root, "update-ref", "-d", ref)
    git(crew.root, "gc", "-q", "--prune=now")
    with pytest.raises(Conflict, match="has not got that any more"):
        crew.workshop.ask("change.undo", change=name)
    land(crew, "mine")
    assert (crew.root / "more.py").exists()


def test_a_revert_that_is_red_does_not_land(crew: CrewGround) -> None:
    """What followed needs what it brought."""
    branch(crew, "mine", {"more.py": "more = 1\n"})
    (mine,) = land(crew, "mine")
    uses = {"test_more.py": "import more\n\ndef test_more():\n    assert more.more\n"}
    branch(crew, "yours", uses)
    land(crew, "yours")
    revert = undo(crew, mine)
    assert revert["state"] == "rejected"
    assert (crew.root / "more.py").exists()


def test_what_did_not_land_is_not_taken_back(crew: CrewGround) -> None:
    """It is said what is meant instead."""
    branch(crew, "mine", BROKEN)
    made = crew.workshop.ask("submit", change="mine")
    crew.settle()
    with pytest.raises(Conflict, match="has not landed"):
        crew.workshop.ask("change.undo", change=made["id"])
