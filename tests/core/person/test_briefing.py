"""What the person's own agent is told of the crew."""

from __future__ import annotations

from typing import Any

import pytest

from windlass.core.errors import Internal
from windlass.core.person import briefing


def view(name: str, state: str = "running", **more: Any) -> dict[str, Any]:
    made = {"uid": f"u-{name}", "id": name, "state": state, "state_age": 65.0}
    return {**made, "parent": None, "goal": f"be {name}", **more}


ASKED = {"id": "q-1", "agent": "api", "text": "which\nport?", "age": 5.0}


def test_every_agent_has_a_line_and_every_question_its_id() -> None:
    said = briefing.status("/r", [view("api"), view("web", "waiting", parent="api")], [ASKED])
    assert said.splitlines() == [
        "[windlass] Your crew in /r, 2 agents:",
        "  api: running for 1m. be api",
        "  web (worker of api): waiting for 1m. be web",
        "Questions that wait for an answer:",
        "  q-1 api asks (5s): which port?",
    ]
    assert "1 agent:" in briefing.status("/r", [view("api")], [])
    assert briefing.status("/r", [], []) == "[windlass] No agents are at work in /r."


def test_what_agents_wrote_is_cut_and_stays_one_line() -> None:
    long = view("api", goal="x" * 500 + "\x1b[31m")
    hostile = {"agent": "api", "text": "a\r\n\x1b]0;t\x07" + "y" * 900, "age": 0.0}
    said = briefing.status("/r", [long], [hostile]).splitlines()
    assert len(said) == 4
    assert len(said[1]) < 120
    assert len(said[3]) < 350
    assert "\x1b" not in "".join(said)


def test_of_a_large_crew_the_rest_is_counted() -> None:
    said = briefing.status("/r", [view(f"a{n}") for n in range(100)], []).splitlines()
    assert len(said) == 42
    assert "60 more" in said[-1]


def test_ages_are_no_news_and_states_parents_and_questions_are() -> None:
    agents, gist = [view("api")], briefing.gist([view("api")], [])
    assert briefing.gist([view("api", state_age=900.0)], []) == gist
    assert briefing.gist([view("api", "complete")], []) != gist
    assert briefing.gist([view("api", parent="m")], []) != gist
    assert briefing.gist([], []) != gist
    assert briefing.gist(agents, [ASKED]) != gist
    assert briefing.gist(agents, [{**ASKED, "id": "q-2"}]) != briefing.gist(agents, [ASKED])


def test_a_crew_is_active_while_somebody_may_have_news() -> None:
    assert not briefing.active([])
    resting = [view("a", "complete"), view("b", "stopped"), view("c", "paused")]
    assert not briefing.active(resting)
    assert briefing.active([*resting, view("d", "rate_limited")])


def test_a_section_takes_the_place_of_the_one_with_its_heading() -> None:
    text = "# All\n\n## One\n\nold\n\n### in it\n\n## Two\n\nkept\n"
    assert briefing.with_section(text, "## One\n\nnew\n") == (
        "# All\n\n## One\n\nnew\n\n## Two\n\nkept\n"
    )
    assert briefing.with_section(text, "## Two\n\nnew\n").endswith("\n## Two\n\nnew\n")
    with pytest.raises(Internal, match="## Three"):
        briefing.with_section(text, "## Three\n")
