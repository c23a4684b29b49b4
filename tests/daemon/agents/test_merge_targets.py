"""Into which branches agents may merge: their own, and those of agents below them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.workshop import Workshop, git

from windlass.core.crew import Agent
from windlass.core.errors import Denied


def spawn(workshop: Workshop, name: str, *, by: Agent | None = None, **more: Any) -> Agent:
    """An agent with hooks alone, started by the person or by another agent."""
    request = {"goal": "g", "name": name, "driver": "standin", "isolation": "hooks", **more}
    made = workshop.ask_as(by, "spawn", **request) if by else workshop.ask("spawn", **request)
    return workshop.agent(made["uid"])


def commit(agent: Agent, path: str = "work.txt") -> None:
    """A commit in the workspace of an agent."""
    file = Path(agent.workspace) / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"of {agent.id}\n")
    git(Path(agent.workspace), "add", "-A")
    git(Path(agent.workspace), "commit", "-q", "-m", f"work of {agent.id}")


def tips(workshop: Workshop) -> str:
    """Every branch, and where it is."""
    return git(workshop.repo, "for-each-ref", "refs/heads")


@pytest.mark.parametrize("verb", ["merge", "merge-check"])
@pytest.mark.parametrize("into", ["main", "release", "agent/other", "other", "agent/top", "top"])
def test_an_agent_merges_into_no_branch_of_the_persons_of_a_sibling_or_of_who_is_above_it(
    workshop: Workshop, verb: str, into: str
) -> None:
    git(workshop.repo, "branch", "release")
    top = spawn(workshop, "top", role="manager")
    spawn(workshop, "other", by=top, role="manager")
    lead = spawn(workshop, "lead", by=top, role="manager")
    hand = spawn(workshop, "hand", by=lead)
    commit(hand)
    before = tips(workshop)
    with pytest.raises(Denied, match=r"lead may not merge into .*own branch") as told:
        workshop.ask_as(lead, verb, agent="hand", into=into)
    assert "agent/lead or agent/hand" in told.value.hint
    assert told.value.exit_code == 7
    assert tips(workshop) == before
    assert workshop.agent(hand.uid).ended_at is None


def test_an_agent_merges_into_its_own_branch_and_into_those_below(workshop: Workshop) -> None:
    lead = spawn(workshop, "lead", role="manager")
    below = spawn(workshop, "below", by=lead, role="manager")
    for name, into in (("one", "below"), ("two", None), ("three", "agent/lead")):
        hand = spawn(workshop, name, by=below)
        commit(hand, f"{name}.txt")
        named = {"into": into} if into else {}
        checked = workshop.ask_as(lead, "merge-check", agent=name, **named)
        assert checked["clean"]
        assert workshop.ask_as(lead, "merge", agent=name, **named)["into"] == checked["into"]
    assert "two.txt" in git(workshop.repo, "ls-tree", below.branch or "")
    assert "three.txt" in git(workshop.repo, "ls-tree", lead.branch or "")


def test_the_person_merges_into_any_branch(workshop: Workshop) -> None:
    git(workshop.repo, "branch", "release")
    lead = spawn(workshop, "lead", role="manager")
    for name, into in (("one", "release"), ("two", "main"), ("three", "lead")):
        commit(spawn(workshop, name, parent=lead.id), f"{name}.txt")
        workshop.ask("merge", agent=name, into=into)


def test_an_agent_in_the_persons_checkout_merges_where_it_works_and_nothing_protected(
    workshop: Workshop,
) -> None:
    git(workshop.repo, "branch", "release")
    lead = spawn(workshop, "lead", role="manager", worktree=False)
    plain = spawn(workshop, "plain", by=lead)
    commit(plain)
    with pytest.raises(Denied, match="lead may not merge into release"):
        workshop.ask_as(lead, "merge", agent="plain", into="release")
    assert workshop.ask_as(lead, "merge", agent="plain")["into"] == "main"
    commit(spawn(workshop, "sly", by=lead), ".github/workflows/ci.yml")
    with pytest.raises(Denied, match="sly edits protected paths"):
        workshop.ask_as(lead, "merge", agent="sly")


@pytest.mark.parametrize("path", [".claude/settings.json", "sub/.mcp.json", ".envrc", ".CLAUDE/x"])
def test_what_is_protected_leaves_a_box_by_the_persons_merge_alone(
    workshop: Workshop, path: str
) -> None:
    """An agent CLI without a box would run what it finds there, as the person."""
    lead = spawn(workshop, "lead", role="manager")
    hand = spawn(workshop, "hand", by=lead, isolation="box")
    commit(hand)
    commit(hand, path)
    before = tips(workshop)
    with pytest.raises(Denied, match=r"hand edits protected paths.* out of a box: ") as told:
        workshop.ask_as(lead, "merge", agent="hand")
    assert path in told.value.message
    assert told.value.exit_code == 7
    assert workshop.agent(hand.uid).ended_at is None
    assert tips(workshop).splitlines()[1:] == before.splitlines()[1:]
    assert workshop.ask("merge", agent="hand", into="lead")["into"] == lead.branch
    assert path in git(workshop.repo, "ls-tree", "-r", "--name-only", lead.branch or "")


def test_what_is_not_protected_leaves_a_box_and_what_is_goes_from_box_to_box(
    workshop: Workshop,
) -> None:
    lead = spawn(workshop, "lead", role="manager")
    commit(spawn(workshop, "plain", by=lead, isolation="box"))
    assert workshop.ask_as(lead, "merge", agent="plain")["into"] == lead.branch
    boxed = spawn(workshop, "boxed", role="manager", isolation="box")
    commit(spawn(workshop, "below", by=boxed, isolation="box"), ".claude/settings.json")
    assert workshop.ask_as(boxed, "merge", agent="below")["into"] == boxed.branch
