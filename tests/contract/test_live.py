"""Live sessions: what both drivers do on the same scripts, and what their histories say."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.support.ground import until
from tests.support.scene import Scene, bare

pytestmark = pytest.mark.slow
BEGUN = [("creating", "windlass"), ("running", "hook")]
DONE = {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"}
REST = {"text": "I rest.\n\nWAITING"}


def bash(command: str, **more: Any) -> dict[str, Any]:
    """An entry that runs a command."""
    return {"tool": "Bash", "input": {"command": command, **more}}


def begun(path: Path) -> None:
    """Waits until a tool has left its sign."""
    until(path.exists, what=f"{path.name}")


def test_an_agent_uses_a_tool_and_completes_its_goal(on: Scene) -> None:
    workspace = on.new("fox", {"tool": "Bash", "input": {"command": "echo red > colour"}}, DONE)
    on.wait("fox")
    assert (workspace / "colour").read_text() == "red\n"
    assert on.history("fox") == [*BEGUN, ("complete", "hook")]


def test_a_finish_without_a_single_tool_call_is_not_complete(on: Scene) -> None:
    on.new("fox", DONE)
    on.wait("fox")
    assert on.history("fox") == [*BEGUN, ("waiting", "hook")]
    assert "not called a single tool" in on.evidence("fox")


def test_a_forbidden_tool_is_denied_with_the_reason_and_the_turn_goes_on(on: Scene) -> None:
    workspace = on.new(
        "fox",
        {"tool": "Bash", "input": {"command": "touch forbidden"}},
        {"text": "I could not.\n\nWAITING"},
        flags=["--deny-tools", "Bash(touch:*)"],
    )
    on.wait("fox")
    assert not (workspace / "forbidden").exists()
    assert on.history("fox") == [*BEGUN, ("waiting", "hook")]
    denied = [e for e in on.ground.events("fox") if e["kind"] == "hook.PolicyDecision"]
    assert len(denied) == 1


def test_a_message_to_an_idle_agent_starts_its_next_turn(on: Scene) -> None:
    on.new(
        "fox",
        {"text": "Which colour?\n\nWAITING"},
        {"await": "message"},
        {"tool": "Write", "input": {"file_path": "colour", "content": "${MESSAGE}\n"}},
        DONE,
    )
    on.wait("fox", "waiting")
    on.wl("send", "fox", "green").ok()
    on.wait("fox", "complete")
    assert on.history("fox") == [
        *BEGUN,
        ("waiting", "hook"),
        ("running", "hook"),
        ("complete", "hook"),
    ]


def test_an_interrupted_turn_ends_and_the_next_message_is_not_mixed_with_it(on: Scene) -> None:
    workspace = on.new(
        "fox",
        bash("touch begun; sleep 60"),
        {"text": "never said"},
        on=[{"match": "^instead$", "turns": [{"text": "Instead.\n\nWAITING"}]}],
    )
    begun(workspace / "begun")
    on.wl("interrupt", "fox").ok()
    on.wait_for_history("fox", [*BEGUN, ("waiting", "status")])
    assert on.evidence("fox") == "interrupted: `wl interrupt`"
    on.wl("send", "fox", "instead").ok()
    on.wait_for_history(
        "fox", [*BEGUN, ("waiting", "status"), ("running", "hook"), ("waiting", "hook")]
    )
    until(lambda: "instead" in on.texts("fox"), what="the message in the transcript")


def test_thinking_and_a_slow_answer_keep_an_agent_running_until_it_ends(on: Scene) -> None:
    on.new(
        "fox",
        {"thinking": "Let me see."},
        {"pause": 1.5},
        {"text": "Slowly."},
        bash("true"),
        {"pause": 1.5},
        DONE,
    )
    on.wait("fox")
    assert on.history("fox") == [*BEGUN, ("complete", "hook")]


def test_a_tool_that_nobody_knows_is_an_error_and_the_turn_goes_on(on: Scene) -> None:
    on.new("fox", {"tool": "Teleport", "input": {"to": "the moon"}}, bash("true"), DONE)
    on.wait("fox")
    assert on.history("fox") == [*BEGUN, ("complete", "hook")]


def test_a_turn_ends_while_a_background_task_runs_and_its_exit_wakes_the_agent(on: Scene) -> None:
    workspace = on.new(
        "fox",
        bash(
            "until test -e go; do sleep 0.1; done",
            run_in_background=True,
            description="wait for the word",
        ),
        REST,
        on=[{"match": "task-notification", "turns": [bash("touch woken"), DONE]}],
    )
    on.wait_for_history("fox", [*BEGUN, ("waiting", "hook")])
    assert on.evidence("fox") == "WAITING; in the background: wait for the word"
    (workspace / "go").touch()
    on.wait("fox", "complete")
    assert (workspace / "woken").exists()
    assert on.history("fox") == [
        *BEGUN,
        ("waiting", "hook"),
        ("running", "hook"),
        ("complete", "hook"),
    ]


def test_a_compaction_is_seen_from_its_beginning_to_its_end(on: Scene) -> None:
    on.new("fox", bash("true"), REST)
    on.wait("fox", "waiting")
    on.press("fox", "/compact")
    until(lambda: "/compact" in on.wl("look", "fox").ok().out, what="the command")
    on.press("fox", "Enter")
    on.wait_for_history(
        "fox", [*BEGUN, ("waiting", "hook"), ("compacting", "hook"), ("waiting", "hook")]
    )
    assert on.evidence("fox") == "idle: compacted"
    on.wl("send", "fox", "and now?").ok()
    on.wait_for_history(
        "fox",
        [
            *BEGUN,
            ("waiting", "hook"),
            ("compacting", "hook"),
            ("waiting", "hook"),
            ("running", "hook"),
            ("waiting", "hook"),
        ],
    )


def test_a_model_that_asks_for_patience_is_rate_limited_until_it_answers(on: Scene) -> None:
    refusal = {"error": {"status": 429, "retry_after": 5, "times": 1}}
    on.new("fox", bash("true"), refusal, bash("true"), DONE)
    on.wait("fox", "complete")
    assert on.history("fox") == [
        *BEGUN,
        ("rate_limited", "screen"),
        ("running", "hook"),
        ("complete", "hook"),
    ]


def test_a_model_that_refuses_for_good_is_waited_for_in_vain_and_nothing_is_complete(
    on: Scene,
) -> None:
    refusal = {"error": {"status": 529, "retry_after": 4, "message": "Overloaded"}}
    on.new("fox", bash("true"), refusal, DONE)
    on.wait("fox", "waiting")
    assert on.history("fox") == [*BEGUN, ("rate_limited", "screen"), ("waiting", "hook")]
    assert on.evidence("fox").startswith("turn ended by an error: server_error: API Error")


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (signal.SIGINT, 0),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.soak),
        (signal.SIGKILL, 137),
    ],
)
def test_a_killed_session_is_stopped_and_goes_on_by_itself_when_it_is_resumed(
    on: Scene, sent: signal.Signals, code: int
) -> None:
    workspace = on.new(
        "fox",
        {"text": "I begin."},
        bash("echo once >> runs; test $(wc -l < runs) -gt 1 || sleep 60"),
        DONE,
    )
    begun(workspace / "runs")
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
    until(lambda: DONE["text"] in on.texts("fox"), what="an answer in the transcript")
    said = on.texts("fox")
    assert said.count("be fox") == said.count("I begin.") == said.count(DONE["text"]) == 1
    assert (workspace / "runs").read_text() == "once\nonce\n"
    if on.driver == "claude":
        told = [text for one in on.model.requests for text in one.texts]
        assert told == ["be fox", "Continue from where you left off."]


@pytest.mark.parametrize("level", ["box"])
def test_what_a_killed_session_left_behind_says_nothing_about_the_next(on: Scene) -> None:
    """In a box both have the same number, and so the same status file."""
    workspace = on.new("fox", bash("touch begun; test -e again || sleep 60"), DONE)
    begun(workspace / "begun")
    left = list(on.ground.state.glob("agents/*/**/sessions/2.json"))
    assert len(left) == 1
    psutil.Process(on.pid("fox")).send_signal(signal.SIGKILL)
    on.wait_for_history("fox", [*BEGUN, ("stopped", "process")])
    told = json.loads(left[0].read_text())
    # As if it had been resumed a minute later.
    left[0].write_text(json.dumps({**told, "statusUpdatedAt": told["statusUpdatedAt"] - 60_000}))
    (workspace / "again").touch()
    on.wl("resume", "fox").ok()
    on.wait("fox", "complete")
    later = [("creating", "windlass"), ("running", "hook"), ("complete", "hook")]
    assert on.history("fox") == [*BEGUN, ("stopped", "process"), *later]


LONG = "\n".join(f"{number:03} {'~' * 96}" for number in range(300))


MESSAGES = (
    LONG,
    "ends with a backslash \\",
    "/tmp/x is a path; so is /etc",
    "! is no command",
    "# is no memory",
    "?",
    "@README is no mention; $(no) `shell` ${HOME} 'q' \"d\" ~ * \\n",
    "grüße, 世界, 👩‍🚀",
    "one\n\n  two\n    three",
)


def test_messages_arrive_whole_and_once_and_in_order(on: Scene) -> None:
    on.new("fox", REST)
    on.wait("fox", "waiting")
    history = [*BEGUN, ("waiting", "hook")]
    for said in MESSAGES:
        on.wl("send", "fox", "--", said).ok()
        history += [("running", "hook"), ("waiting", "hook")]
        on.wait_for_history("fox", history)
    # What it answered may be written down after it said that it is done.
    answer = "Noted.\n\nWAITING"
    until(lambda: on.texts("fox").count(answer) == len(MESSAGES), what="the answers")
    heard = [text for text in on.texts("fox") if text not in (REST["text"], answer)]
    assert heard == ["be fox", *MESSAGES]
    if on.driver == "claude":
        told = [body for one in on.model.requests for text in one.texts for body in bare(text)]
        assert told == ["be fox", *MESSAGES]


def test_a_prompt_that_is_put_back_is_not_mixed_with_the_next_message(on: Scene) -> None:
    on.new(
        "fox",
        {"pause": 60},
        {"text": "never said"},
        on=[{"match": "^instead$", "turns": [{"text": "Instead.\n\nWAITING"}]}],
    )
    on.wait("fox", "running")
    if on.driver == "claude":
        # A model that never heard the prompt would not know which script is meant.
        on.model.wait_for(lambda one: one.kind == "main")
    on.wl("interrupt", "fox").ok()
    on.wait_for_history("fox", [*BEGUN, ("waiting", "status")])
    on.wl("send", "fox", "instead").ok()
    on.wait_for_history(
        "fox", [*BEGUN, ("waiting", "status"), ("running", "hook"), ("waiting", "hook")]
    )
    until(lambda: "Instead.\n\nWAITING" in on.texts("fox"), what="an answer in the transcript")
    on.await_texts("fox", "instead", "Instead.\n\nWAITING")


def test_a_message_to_a_busy_agent_is_taken_between_two_tool_calls_and_once(on: Scene) -> None:
    workspace = on.new(
        "fox",
        bash("touch begun; until test -e go; do sleep 0.1; done"),
        bash("touch second"),
        DONE,
        on=[{"match": "^by the way$", "times": 1, "turns": [bash("ls > seen")]}],
    )
    begun(workspace / "begun")
    on.wl("send", "fox", "by the way").ok()
    assert on.history("fox") == BEGUN
    (workspace / "go").touch()
    on.wait("fox", "complete")
    assert on.history("fox") == [*BEGUN, ("complete", "hook")]
    assert "second" not in (workspace / "seen").read_text().split()
    assert (workspace / "second").exists()
