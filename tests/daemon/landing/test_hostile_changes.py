"""Changes made to get past the person, or to be in the way of others."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.daemon.landing.crew_ground import CrewGround
from tests.support.workshop import Workshop, git

from windlass.core.crew import Agent
from windlass.core.errors import Conflict, Denied

CI = ".github/workflows/ci.yml"


@pytest.fixture
def crew(workshop: Workshop) -> CrewGround:
    """What agents propose lands by itself, unless something is wrong with it."""
    (workshop.context.folders.home / "config.toml").write_text('[landing]\nreview = "none"\n')
    return CrewGround(workshop)


def branch(crew: CrewGround, name: str, files: dict[str, str]) -> None:
    """Commits on a branch of the person's."""
    git(crew.root, "checkout", "-q", "-b", name, "main")
    crew.write(crew.root, files)
    git(crew.root, "add", "-A")
    git(crew.root, "commit", "-q", "-m", name)
    git(crew.root, "checkout", "-q", "main")


def propose(crew: CrewGround, agent: Agent) -> str:
    """Has an agent propose what it has, and live on."""
    return str(crew.workshop.ask_as(agent, "submit", keep=True)["id"])


def has(crew: CrewGround, path: str) -> bool:
    """Whether main has a file."""
    return path in git(crew.root, "ls-tree", "-r", "--name-only", "main").splitlines()


def test_a_change_that_git_cannot_merge_holds_nobody_else(crew: CrewGround) -> None:
    """It comes back by itself, and says why."""
    branch(crew, "mine", {"more.py": "more = 1\n"})
    eve = crew.worker("eve")
    place = Path(eve.workspace)
    empty = git(place, "hash-object", "-t", "tree", "/dev/null").strip()
    orphan = git(place, "commit-tree", "-m", "no parents", empty).strip()
    git(place, "reset", "-q", "--hard", orphan)
    name = propose(crew, eve)
    crew.workshop.ask("submit", change="mine")
    crew.settle()
    assert crew.change("mine")["state"] == "landed"
    shown = crew.change(name)
    assert shown["state"] == "conflict"
    assert shown["why"].startswith("the two branches share no history")


def test_a_change_that_takes_back_what_came_to_the_target_since_waits_for_a_person(
    crew: CrewGround,
) -> None:
    """It had merged that before it was there, and kept none of it: it edited nothing then."""
    branch(crew, "strict", {CI: "strict\n"})
    eve = crew.worker("eve")
    git(Path(eve.workspace), "merge", "-q", "-s", "ours", "-m", "merge", "strict")
    crew.commit(eve, {"more.py": "more = 1\n"})
    name = propose(crew, eve)
    assert crew.change(name)["guards"] == []
    git(crew.root, "merge", "-q", "--ff-only", "strict")
    crew.settle()
    shown = crew.change(name)
    assert (shown["state"], shown["approval"]) == ("held", None)
    assert CI in shown["why"]
    assert has(crew, CI)
    crew.workshop.ask("approve", change=name)
    crew.settle()
    assert crew.change(name)["state"] == "landed"
    assert not has(crew, CI)


def test_a_protected_path_that_is_no_text_is_let_in_by_an_approval(crew: CrewGround) -> None:
    """It is known again by its bytes."""
    eve = crew.worker("eve")
    place = os.fsencode(eve.workspace)
    os.mkdir(place + b"/.github")  # noqa: PTH102 - the name is bytes
    with open(place + b"/.github/b\xff\n.yml", "w") as file:  # noqa: PTH123 - the name is bytes
        file.write("lax\n")
    crew.commit(eve, {"more.py": "more = 1\n"})
    name = propose(crew, eve)
    assert crew.change(name)["state"] == "held"
    crew.workshop.ask("approve", change=name)
    crew.settle()
    assert crew.change(name)["state"] == "landed"


def test_an_approval_lets_no_more_in_than_there_was(crew: CrewGround) -> None:
    """What was looked at did not take that back."""
    branch(crew, "strict", {CI: "strict\n"})
    eve = crew.worker("eve")
    git(Path(eve.workspace), "merge", "-q", "-s", "ours", "-m", "merge", "strict")
    crew.commit(eve, {"CLAUDE.md": "be kind\n"})
    name = propose(crew, eve)
    crew.workshop.ask("approve", change=name)
    git(crew.root, "merge", "-q", "--ff-only", "strict")
    crew.settle()
    assert crew.change(name)["state"] == "held"
    assert has(crew, CI)
    assert not has(crew, "CLAUDE.md")


def test_what_was_taken_back_does_not_come_again_behind_something_harmless(
    crew: CrewGround,
) -> None:
    """The branch brings all of it once more: so it is told, and shown."""
    eve = crew.worker("eve")
    crew.commit(eve, {CI: "lax\n"})
    name = propose(crew, eve)
    crew.workshop.ask("approve", change=name)
    crew.settle()
    branch(crew, "mine", {"more.py": "more = 1\n"})
    crew.workshop.ask("submit", change="mine")
    crew.settle()
    assert has(crew, CI)
    crew.workshop.ask("change.undo", change=name)
    crew.settle()
    assert not has(crew, CI)
    crew.commit(eve, {"harmless.py": "harmless = 1\n"})
    again = propose(crew, eve)
    crew.settle()
    assert crew.change(again)["state"] == "held"
    assert CI in crew.change(again)["why"]
    shown = crew.workshop.ask("change.diff", change=again)
    assert shown["base"] != git(crew.root, "merge-base", "main", "agent/eve").strip()
    assert not has(crew, CI)


def test_an_undo_believes_nothing_that_an_author_wrote_into_a_commit(crew: CrewGround) -> None:
    """A merge of its author's own that calls itself the change could be a revert of anything."""
    eve = crew.worker("eve")
    place = Path(eve.workspace)
    lax = crew.commit(eve, {CI: "lax\n"})
    git(place, "reset", "-q", "--hard", "HEAD^")
    good = crew.commit(eve, {"more.py": "more = 1\n"})
    tree = git(place, "rev-parse", f"{good}^{{tree}}").strip()
    words = ("-p", lax, "-p", good, "-m", "merge", "-m", "Windlass-Change: c1")
    git(place, "reset", "-q", "--hard", git(place, "commit-tree", tree, *words).strip())
    assert propose(crew, eve) == "c1"
    crew.settle()
    assert has(crew, "more.py")
    branch(crew, "mine", {"other.py": "other = 1\n"})
    crew.workshop.ask("submit", change="mine")
    crew.settle()
    crew.workshop.ask("change.undo", change="c1")
    crew.settle()
    assert not has(crew, "more.py")
    assert not has(crew, CI)


def test_an_approval_is_of_the_revision_that_was_looked_at(crew: CrewGround) -> None:
    """Who has looked at one does not let the next one in unseen."""
    eve = crew.worker("eve")
    crew.commit(eve, {"CLAUDE.md": "be kind\n"})
    name = propose(crew, eve)
    crew.workshop.ask("change.diff", change=name)
    crew.commit(eve, {"CLAUDE.md": "be evil\n"})
    propose(crew, eve)
    with pytest.raises(Conflict, match="another revision than the one that you looked at"):
        crew.workshop.ask("approve", change=name)
    crew.workshop.ask("change.diff", change=name)
    crew.workshop.ask("approve", change=name)
    crew.settle()
    assert crew.change(name)["state"] == "landed"


def test_an_agent_that_is_called_like_a_branch_is_not_taken_for_it(crew: CrewGround) -> None:
    """What the person merges they have looked at: it has to be what they mean."""
    branch(crew, "feature", {"more.py": "more = 1\n"})
    eve = crew.worker("feature")
    crew.commit(eve, {CI: "lax\n"})
    with pytest.raises(Conflict, match="an agent and a branch"):
        crew.workshop.ask("submit", change="feature")
    theirs = propose(crew, eve)
    mine = crew.workshop.ask("submit", change="refs/heads/feature")
    assert (mine["branch"], mine["author"]) == ("feature", None)
    with pytest.raises(Conflict, match=f"with {theirs} and {mine['id']}"):
        crew.workshop.ask("approve", change="feature")
    crew.settle()
    assert has(crew, "more.py")
    assert not has(crew, CI)


def test_an_agent_does_not_leave_the_persons_checkout_behind(crew: CrewGround) -> None:
    """What they commit next would be on no branch."""
    eve = crew.worker("eve")
    crew.commit(eve, {"calc.py": "def add(a, b):\n    return b + a\n"})
    with pytest.raises(Denied, match="leave no checkout"):
        crew.workshop.ask_as(eve, "submit", unattended=True)


def test_the_board_stays_the_persons_whatever_a_merge_compares_it_with(crew: CrewGround) -> None:
    """Of two histories that an agent has tied together it kept what one did not have yet."""
    board = ".windlass/kanban.md"
    crew.write(crew.root, {board: "- [ ] **[A-1]** one\n"})
    git(crew.root, "add", "-A", "-f")
    git(crew.root, "commit", "-q", "-m", "board")
    branch(crew, "plans", {board: "- [ ] **[A-1]** one\n- [ ] **[A-2]** two\n"})
    eve = crew.worker("eve")
    place = Path(eve.workspace)
    crew.write(crew.root, {"other.py": "other = 1\n"})
    git(crew.root, "add", "-A")
    git(crew.root, "commit", "-q", "-m", "other")
    git(place, "merge", "-q", "main")
    git(place, "merge", "-q", "-s", "ours", "-m", "tie", "plans")
    crew.commit(eve, {"more.py": "more = 1\n"})
    git(crew.root, "merge", "-q", "-m", "plans", "plans")
    name = propose(crew, eve)
    crew.settle()
    assert crew.change(name)["state"] == "landed"
    assert "A-2" in git(crew.root, "show", f"main:{board}")
