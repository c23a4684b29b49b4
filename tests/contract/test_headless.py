"""Headless sessions: what both drivers do on the same scripts, and what their histories say."""

from __future__ import annotations

import signal
from typing import Any

import psutil
import pytest
from tests.support.ground import until
from tests.support.scene import Scene

pytestmark = pytest.mark.slow
BEGUN = [("creating", "windlass"), ("running", "hook")]
DONE = {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"}
REST = {"text": "I rest.\n\nWAITING"}
HEADLESS = ["--print"]
TERM = pytest.param(signal.SIGTERM, 143, marks=pytest.mark.soak)


def bash(command: str) -> dict[str, Any]:
    """An entry that runs a command."""
    return {"tool": "Bash", "input": {"command": command}}


def ended(on: Scene, name: str, turns: int = 1) -> list[dict[str, Any]]:
    """Waits until so many turns have ended, and returns what is known of each."""

    def found() -> list[dict[str, Any]]:
        return [e["data"] for e in on.ground.events(name) if e["kind"] == "turn.ended"]

    until(lambda: len(found()) >= turns, what=f"the end of turn {turns}")
    assert len(found()) == turns
    return found()


def test_messages_are_answered_one_after_the_other_and_each_once(on: Scene) -> None:
    on.new(
        "fox",
        bash("true"),
        DONE,
        on=[
            {"match": "second", "turns": [bash("true"), {"text": "Two.\n\nWAITING"}]},
            {"match": "third", "turns": [{"text": "Three.\n\nWAITING"}]},
        ],
        flags=HEADLESS,
    )
    turn = [("running", "hook"), ("waiting", "hook")]
    on.wait_for_history("fox", [*BEGUN, ("complete", "hook")])
    on.wl("send", "fox", "second").ok()
    on.wait_for_history("fox", [*BEGUN, ("complete", "hook"), *turn])
    on.wl("send", "fox", "third").ok()
    on.wait_for_history("fox", [*BEGUN, ("complete", "hook"), *turn, *turn])
    ended(on, "fox", 3)
    said = ["be fox", DONE["text"], "second", "Two.\n\nWAITING", "third", "Three.\n\nWAITING"]
    on.await_texts("fox", *said)


def test_a_forbidden_tool_is_denied_and_recorded_once_with_its_whole_input(on: Scene) -> None:
    command = f"touch forbidden # {'because ' * 200}"
    workspace = on.new(
        "fox",
        bash(command),
        bash("touch allowed"),
        REST,
        flags=[*HEADLESS, "--deny-tools", "Bash(touch forbidden:*)"],
    )
    on.wait("fox")
    assert not (workspace / "forbidden").exists()
    assert (workspace / "allowed").exists()
    assert on.history("fox") == [*BEGUN, ("waiting", "hook")]
    events = on.ground.events("fox")
    denied = [e["data"] for e in events if e["kind"] == "hook.PolicyDecision"]
    assert [one["tool_input"] for one in denied] == [{"command": command}]
    assert "Bash(touch forbidden:*) is denied" in denied[0]["reason"]


def test_a_model_that_asks_for_patience_is_rate_limited_until_it_answers(on: Scene) -> None:
    on.new(
        "fox",
        bash("true"),
        {"error": {"status": 429, "retry_after": 4, "times": 1}},
        DONE,
        flags=HEADLESS,
    )
    on.wait("fox", "complete")
    assert on.history("fox") == [
        *BEGUN,
        ("rate_limited", "output"),
        ("running", "output"),
        ("complete", "hook"),
    ]


@pytest.mark.parametrize(
    ("status", "message", "state"),
    [
        pytest.param(529, "Overloaded", "waiting", id="overloaded"),
        pytest.param(400, "Your credit balance is too low", "waiting", id="no credit"),
        pytest.param(429, "Too many requests", "rate_limited", id="rate limit"),
    ],
)
def test_a_turn_that_the_model_refuses_for_good_is_never_complete(
    on: Scene, status: int, message: str, state: str
) -> None:
    on.new(
        "fox",
        bash("true"),
        {"error": {"status": status, "message": message}},
        DONE,
        on=[{"match": "^again$", "turns": [REST]}],
        flags=HEADLESS,
    )
    (turn,) = ended(on, "fox")
    assert turn["is_error"]
    until(lambda: on.ground.state_of("fox") == state)
    assert "complete" not in [one for one, _ in on.history("fox")]
    assert on.evidence("fox").startswith("turn ended by an error: ")
    on.wl("send", "fox", "again").ok()
    ended(on, "fox", 2)
    until(lambda: on.evidence("fox") == "WAITING")
    assert on.history("fox")[-2:] == [("running", "hook"), ("waiting", "hook")]


@pytest.mark.parametrize(("sent", "code"), [TERM, (signal.SIGKILL, 137)])
def test_a_killed_session_goes_on_by_itself_when_it_is_resumed(
    on: Scene, sent: signal.Signals, code: int
) -> None:
    workspace = on.new(
        "fox",
        {"text": "I begin."},
        bash("echo once >> runs; test $(wc -l < runs) -gt 1 || sleep 60"),
        DONE,
        flags=HEADLESS,
    )
    until((workspace / "runs").exists)
    # What is killed before it is written down was never said: the goal would be told again.
    until(lambda: "I begin." in on.texts("fox"))
    psutil.Process(on.pid("fox")).send_signal(sent)
    on.wait_for_history("fox", [*BEGUN, ("stopped", "process")])
    assert on.evidence("fox") == f"session 1 ended with exit code {code}"
    on.wl("resume", "fox").ok()
    on.wait("fox", "complete")
    assert on.history("fox") == [
        *BEGUN,
        ("stopped", "process"),
        ("creating", "windlass"),
        ("running", "hook"),
        ("complete", "hook"),
    ]
    on.await_texts("fox", DONE["text"])
    said = on.texts("fox")
    assert said.count("be fox") == said.count("I begin.") == said.count(DONE["text"]) == 1
    assert (workspace / "runs").read_text() == "once\nonce\n"


@pytest.mark.parametrize("mode", [[], HEADLESS], ids=["live", "headless"])
def test_an_agent_whose_time_is_over_is_paused_in_the_middle_of_its_work(
    on: Scene, mode: list[str]
) -> None:
    # A busy machine may need a short limit to come to the first call: then a longer one is tried.
    for name, limit in (("fox", "8s"), ("owl", "40s"), ("elk", "3m")):
        work = bash("touch begun; sleep 600; touch late")
        workspace = on.new(name, work, DONE, flags=[*mode, "--time-limit", limit])
        on.wait(name, "paused")
        if (workspace / "begun").exists():
            break
    else:
        pytest.fail("it never came to its first call")
    assert on.history(name) == [*BEGUN, ("paused", "windlass")]
    assert on.evidence(name) == f"paused: its time limit of {limit} is over"
    until(lambda: "session.ended" in [e["kind"] for e in on.ground.events(name)])
    over = [e for e in on.ground.events(name) if e["kind"] == "budget.exceeded"]
    assert [one["data"]["budget"] for one in over] == ["limits.seconds"]
    assert f"its time limit of {limit} is over" in on.wl("resume", name).failed(7).err


def test_an_interrupted_turn_ends_and_the_next_message_starts_another(on: Scene) -> None:
    workspace = on.new(
        "fox",
        bash("touch begun; sleep 60"),
        {"text": "never said"},
        on=[{"match": "^instead$", "turns": [{"text": "Instead.\n\nWAITING"}]}],
        flags=HEADLESS,
    )
    until((workspace / "begun").exists)
    on.wl("interrupt", "fox").ok()
    on.wait_for_history("fox", [*BEGUN, ("waiting", "output")])
    assert on.evidence("fox") == "interrupted: `wl interrupt`"
    on.wl("send", "fox", "instead").ok()
    on.wait_for_history(
        "fox", [*BEGUN, ("waiting", "output"), ("running", "hook"), ("waiting", "hook")]
    )
    on.await_texts("fox", "instead", "Instead.\n\nWAITING")


def test_a_session_that_was_stopped_by_hand_waits_for_a_message_when_it_is_resumed(
    on: Scene,
) -> None:
    workspace = on.new(
        "fox",
        bash("touch begun; sleep 60"),
        {"text": "never said"},
        on=[{"match": "^instead$", "turns": [{"text": "Instead.\n\nWAITING"}]}],
        flags=HEADLESS,
    )
    until((workspace / "begun").exists)
    psutil.Process(on.pid("fox")).send_signal(signal.SIGINT)
    stopped = [*BEGUN, ("waiting", "output"), ("stopped", "process")]
    on.wait_for_history("fox", stopped)
    assert on.evidence("fox") == "session 1 ended with exit code 0"
    on.wl("resume", "fox").ok()
    resumed = [*stopped, ("creating", "windlass"), ("waiting", "hook")]
    on.wait_for_history("fox", resumed)
    on.wl("send", "fox", "instead").ok()
    on.wait_for_history("fox", [*resumed, ("running", "hook"), ("waiting", "hook")])
    on.await_texts("fox", "instead", "Instead.\n\nWAITING")
    assert on.texts("fox").count("be fox") == 1
