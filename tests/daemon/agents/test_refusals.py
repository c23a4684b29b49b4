"""What is refused is refused before anything began: no agent, no trash, nothing in the log."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.workshop import Workshop, git

from windlass.core.errors import Conflict, UserError


def kinds(workshop: Workshop) -> list[str]:
    """The kinds of everything in the log of the repository."""
    return [event["kind"] for event in workshop.ask("log", limit=1000)]


def test_a_merge_that_is_refused_does_not_tell_that_its_agent_is_ending(workshop: Workshop) -> None:
    made = workshop.ask("spawn", goal="g", name="fox", driver="standin", isolation="hooks")
    fox = workshop.agent(made["uid"])
    (Path(fox.workspace) / "draft.txt").write_text("not yet\n")
    with pytest.raises(Conflict, match="fox has uncommitted work"):
        workshop.ask("merge", agent="fox")
    assert "agent.ending" not in kinds(workshop)
    assert workshop.session(fox).alive

    git(Path(fox.workspace), "add", "-A")
    git(Path(fox.workspace), "commit", "-q", "-m", "drafts")
    workshop.ask("merge", agent="fox")
    told = [kind for kind in kinds(workshop) if kind in ("agent.ending", "agent.ended")]
    assert sorted(told) == ["agent.ended", "agent.ending"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ('{"turns": [', r"script bad\.json: .*line 1"),
        ("[]", r"script bad\.json: expected an object, got a list"),
        ('{"turns": [{"tool": "X", "input": []}]}', r"script bad\.json: turns\[0\]\.input: "),
    ],
)
def test_what_is_no_script_is_refused_before_there_is_an_agent(
    workshop: Workshop, words: str, why: str
) -> None:
    (workshop.repo / "bad.json").write_text(words)
    with pytest.raises(UserError, match=why):
        workshop.ask("spawn", goal="g", driver="standin", isolation="hooks", script="bad.json")
    assert "agent.created" not in kinds(workshop)
    assert workshop.ask("trash") == []


@pytest.mark.parametrize(
    ("text", "why"), [(" ", "the text is empty"), ("x" * 100_001, "100000 is the most")]
)
def test_a_note_is_as_long_as_a_message_may_be(workshop: Workshop, text: str, why: str) -> None:
    workshop.ask("spawn", goal="g", name="fox", driver="standin", isolation="hooks")
    with pytest.raises(UserError, match=why):
        workshop.ask("note", agent="fox", text=text)
    assert "agent.note" not in kinds(workshop)


def test_an_agent_writes_no_more_notes_than_it_may_say(workshop: Workshop) -> None:
    workshop.ask("config.set", config_key="mail.rate", value="3", user=True)
    made = workshop.ask("spawn", goal="g", name="fox", driver="standin", isolation="hooks")
    fox = workshop.agent(made["uid"])
    for number in range(3):
        workshop.ask_as(fox, "note", text=f"note {number}")
    with pytest.raises(Conflict, match="3 notes within a minute, and 3 is the limit"):
        workshop.ask_as(fox, "note", text="one more")
    workshop.ask("note", agent="fox", text="the person may")
    workshop.context.clock.time += 61  # type: ignore[attr-defined]
    workshop.ask_as(fox, "note", text="a minute later")


def test_an_agents_goal_for_another_is_as_long_as_a_message_may_be(workshop: Workshop) -> None:
    made = workshop.ask(
        "spawn", goal="g", name="lead", role="manager", driver="standin", isolation="hooks"
    )
    lead = workshop.agent(made["uid"])
    with pytest.raises(UserError, match="100000 is the most"):
        workshop.ask_as(lead, "spawn", goal="x" * 100_001, driver="standin", isolation="hooks")
    assert kinds(workshop).count("agent.created") == 1
