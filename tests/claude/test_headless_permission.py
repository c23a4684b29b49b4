"""What headless Claude Code asks over its streams, and how its turns end by themselves."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.support.ground import until
from tests.support.scene import Scene

pytestmark = pytest.mark.slow
BEGUN = [("creating", "windlass"), ("running", "hook")]
DONE = {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"}
HEADLESS = ["--print"]
QUESTION = {
    "tool": "AskUserQuestion",
    "input": {
        "questions": [
            {
                "question": "Which colour?",
                "header": "Colour",
                "multiSelect": False,
                "options": [
                    {"label": "red", "description": "like a fox"},
                    {"label": "blue", "description": "like the sea"},
                ],
            }
        ]
    },
}


def bash(command: str) -> dict[str, Any]:
    """An entry that runs a command."""
    return {"tool": "Bash", "input": {"command": command}}


def folder(on: Scene) -> Path:
    """The folder of the only session."""
    (found,) = on.ground.state.glob("agents/*/sessions/1")
    return found


def decided(on: Scene, pid: int) -> bool:
    """Whether the hook that was asked for permission has gone, leaving it to others."""
    if b"PermissionRequest" not in (folder(on) / "events.jsonl").read_bytes():
        return False
    return not any("policy.py" in word for word in words_below(pid))


def words_below(pid: int) -> Iterator[str]:
    """The arguments of everything below a process that has not ended yet."""
    for one in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.ZombieProcess, psutil.NoSuchProcess):
            yield from one.cmdline()


def test_a_question_that_no_hook_decides_is_answered_and_the_turn_goes_on(on: Scene) -> None:
    on.new("fox", QUESTION, DONE, flags=[*HEADLESS, "--allow-tools", "AskUserQuestion"])
    on.wait("fox", "complete")
    states = [state for state, _ in on.history("fox")]
    assert states == ["creating", "running", "asking", "running", "complete"]
    asked = on.model.wait_for(lambda one: bool(one.results))
    assert asked.results[0].text == "nobody is there to be asked"


def test_a_question_asked_of_a_dying_daemon_waits_for_the_next_one(on: Scene) -> None:
    script = [bash("touch begun; until test -e go; do sleep 0.1; done"), QUESTION, DONE]
    flags = [*HEADLESS, "--allow-tools", "AskUserQuestion"]
    workspace = on.new("fox", *script, flags=flags)
    until((workspace / "begun").exists)
    pid = on.pid("fox")
    with (folder(on) / "stdin.lock").open("w") as lock:
        # The daemon reads the question but cannot answer it, and so dies in between.
        fcntl.flock(lock, fcntl.LOCK_EX)
        (workspace / "go").touch()
        output = folder(on) / "output"
        until(lambda: b"can_use_tool" in output.read_bytes(), what="a question")
        until(lambda: decided(on, pid), what="the end of the hook")
        on.ground.kill_daemon()
    on.wait("fox", "complete")
    states = [state for state, _ in on.history("fox")]
    assert states == ["creating", "running", "asking", "running", "complete"]
    answers = [r.text for one in on.model.requests for r in one.results]
    assert answers[-1] == "nobody is there to be asked"
    assert output.read_bytes().count(b'"can_use_tool"') == 1


def test_what_the_program_itself_asks_about_is_decided_by_policy(on: Scene) -> None:
    write = {"tool": "Write", "input": {"file_path": ".claude/settings.json", "content": "{}"}}
    workspace = on.new("fox", write, DONE, flags=HEADLESS)
    on.wait("fox", "complete")
    assert (workspace / ".claude" / "settings.json").read_text() == "{}"
    assert b"safetyCheck" in (folder(on) / "output").read_bytes()


def test_a_turn_that_takes_more_calls_than_it_may_ends_and_says_so(on: Scene) -> None:
    workspace = on.new(
        "fox",
        *(bash(f"echo {n} >> calls") for n in range(4)),
        DONE,
        flags=[*HEADLESS, "--max-turns", "2"],
    )
    on.wait_for_history("fox", [*BEGUN, ("waiting", "output")])
    assert (workspace / "calls").read_text() == "0\n1\n"
    assert on.evidence("fox") == "turn ended by an error: error_max_turns"


def test_an_endpoint_that_nobody_listens_at_is_told_of(on: Scene) -> None:
    on.wl("daemon", "stop").ok()
    on.ground.env["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9"
    on.new("fox", bash("true"), DONE, flags=HEADLESS)
    on.wait("fox", "waiting")
    assert "complete" not in [state for state, _ in on.history("fox")]
    assert "Unable to connect" in on.evidence("fox")
