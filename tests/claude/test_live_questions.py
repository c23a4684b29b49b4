"""Questions in a terminal: who may ask them, and that nothing of ours answers them."""

from __future__ import annotations

import pytest
from tests.support.ground import until
from tests.support.scene import Scene

pytestmark = pytest.mark.slow
BEGUN = [("creating", "windlass"), ("running", "hook")]
OPTIONS = [{"label": "red", "description": "warm"}, {"label": "blue", "description": "cool"}]
QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": OPTIONS,
}
ASK = {"tool": "AskUserQuestion", "input": {"questions": [QUESTION]}}
DONE = {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"}


def keys(on: Scene, name: str, *pressed: str) -> None:
    """Presses keys as a person who is attached would."""
    session = on.wl("info", name, "--json").ok().json()["tmux"]
    assert on.ground.tmux("send-keys", "-t", f"={session}:0.0", *pressed).returncode == 0


def test_a_question_that_was_allowed_stays_open_until_a_person_answers_it(on: Scene) -> None:
    on.new("fox", ASK, DONE, flags=["--allow-tools", "AskUserQuestion"])
    on.wait("fox", "asking")
    asked = [*BEGUN, ("asking", "hook")]
    assert on.history("fox") == asked
    until(lambda: "Which colour?" in on.wl("look", "fox").ok().out, what="the question")
    refused = on.wl("interrupt", "fox").failed(1)
    assert "Escape would answer it" in refused.err
    assert "wl attach fox" in refused.err
    assert on.history("fox") == asked
    keys(on, "fox", "Down")
    until(lambda: "\u276f 2. blue" in on.wl("look", "fox").ok().out, what="blue to be chosen")
    keys(on, "fox", "Enter")
    on.wait("fox", "complete")
    assert on.history("fox") == [*asked, ("running", "hook"), ("complete", "hook")]
    answers = [result.text for one in on.model.requests for result in one.results]
    assert len(answers) == 1
    assert "blue" in answers[0]


def test_a_question_that_nobody_allowed_is_denied_and_the_agent_goes_on(on: Scene) -> None:
    on.new("fox", ASK, {"tool": "Bash", "input": {"command": "true"}}, DONE)
    on.wait("fox")
    assert on.history("fox") == [*BEGUN, ("complete", "hook")]
    results = [result for one in on.model.requests for result in one.results]
    assert [result.is_error for result in results] == [True, False]


def test_a_tool_that_is_not_on_the_list_is_denied_and_the_agent_goes_on(on: Scene) -> None:
    schedule = {"cron": "0 0 1 1 *", "prompt": "a new year", "recurring": False}
    on.new("fox", {"tool": "CronCreate", "input": schedule}, DONE)
    on.wait("fox")
    assert on.history("fox") == [*BEGUN, ("complete", "hook")]
    (result,) = [result for one in on.model.requests for result in one.results]
    assert result.is_error
    assert "CronCreate is not in the allow list" in result.text
    denied = [e for e in on.ground.events("fox") if e["kind"] == "hook.PolicyDecision"]
    assert len(denied) == 1
