"""Agents while no daemon runs: they work on, are kept to their policy, and nothing is missed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.ground import until
from tests.support.scene import Scene

pytestmark = pytest.mark.slow
BEGUN = [("creating", "windlass"), ("running", "hook")]
DONE = {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"}
SPENT = {"usage": {"input_tokens": 20_000, "output_tokens": 100}}
MODES = [pytest.param([], id="live"), pytest.param(["--print"], id="headless")]
WAYS = ["kill -9", "stop"]


def bash(command: str) -> dict[str, Any]:
    """An entry that runs a command."""
    return {"tool": "Bash", "input": {"command": command}}


def end_daemon(on: Scene, how: str) -> None:
    """Ends the daemon; agents are not asked."""
    if how == "stop":
        on.wl("daemon", "stop").ok()
    else:
        on.ground.kill_daemon()


def recorded(on: Scene) -> list[str]:
    """The kinds of events that sessions leave, read where they leave them: nothing is started."""
    (path,) = on.ground.state.glob("agents/*/sessions/1/events.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.split('"hook_event_name"', 1)[1].split('"')[1] for line in lines]


def idle(on: Scene) -> bool:
    """Whether the turn has ended, as far as its hooks tell."""
    return recorded(on)[-1:] == ["Stop"]


def spent(on: Scene) -> float:
    """What the agents have cost."""
    return float(on.wl("costs", "--json").ok().json()["total"]["usd"])


@pytest.mark.parametrize("how", WAYS[:1])
@pytest.mark.parametrize("mode", MODES)
def test_a_turn_goes_on_without_a_daemon_and_its_end_is_read_once(
    on: Scene, mode: list[str], how: str
) -> None:
    workspace = on.new(
        "fox",
        SPENT,
        bash("touch begun; until test -e go; do sleep 0.1; done"),
        SPENT,
        bash("touch second"),
        DONE,
        flags=mode,
    )
    until((workspace / "begun").exists)
    on.wait_for_history("fox", BEGUN)
    end_daemon(on, how)
    (workspace / "go").touch()
    until(lambda: idle(on), what="the end of the turn")
    on.wait("fox", "complete")
    assert on.history("fox") == [*BEGUN, ("complete", "hook")]
    assert (workspace / "second").exists()
    on.ground.kill_daemon()
    on.wait("fox", "complete")
    assert on.history("fox") == [*BEGUN, ("complete", "hook")]
    until(lambda: spent(on) > 0.2, what="all of the cost")
    assert spent(on) == pytest.approx(0.205)
    kinds = [e["kind"] for e in on.ground.events("fox")]
    assert kinds.count("hook.Stop") == 1
    assert kinds.count("hook.PreToolUse") == 2
    assert kinds.count("turn.ended") == (1 if mode else 0)


@pytest.mark.parametrize("mode", MODES)
def test_policy_holds_without_a_daemon_and_every_event_is_told_once_and_in_order(
    on: Scene, mode: list[str]
) -> None:
    workspace = on.new(
        "fox",
        bash("touch begun; until test -e go; do sleep 0.1; done"),
        bash("rm README"),
        bash("cp README copied"),
        bash("cp README two; rm README"),
        DONE,
        flags=[*mode, "--deny-tools", "Bash(rm:*)"],
    )
    until((workspace / "begun").exists)
    on.wait_for_history("fox", BEGUN)
    on.wl("daemon", "stop").ok()
    (workspace / "go").touch()
    until(lambda: idle(on), within=60, what="the end of the turn")
    assert (workspace / "README").exists()
    assert (workspace / "copied").exists()
    assert not (workspace / "two").exists()
    told = recorded(on)
    on.wait("fox", "complete")
    assert on.history("fox") == [*BEGUN, ("complete", "hook")]
    events = [e for e in on.ground.events("fox") if e["kind"].startswith("hook.")]
    assert [e["kind"].removeprefix("hook.") for e in events] == told
    assert [e["id"] for e in events] == sorted({e["id"] for e in events})
    denied = [e["data"] for e in events if e["kind"] == "hook.PolicyDecision"]
    assert [one["by"] for one in denied] == ["policy file", "policy file"]
    assert [one["tool_input"]["command"] for one in denied] == [
        "rm README",
        "cp README two; rm README",
    ]


@pytest.mark.parametrize("how", WAYS)
def test_a_session_that_ends_without_a_daemon_is_stopped_and_can_be_resumed(
    on: Scene, how: str
) -> None:
    workspace = on.new(
        "fox",
        bash("touch begun; until test -e go; do sleep 0.1; done"),
        {"crash": 9},
        DONE,
        flags=["--print"],
    )
    until((workspace / "begun").exists)
    on.wait_for_history("fox", BEGUN)
    end_daemon(on, how)
    (workspace / "go").touch()
    (folder,) = on.ground.state.glob("agents/*/sessions/1")
    until((folder / "exit").exists)
    on.wait("fox", "stopped")
    assert on.history("fox") == [*BEGUN, ("stopped", "process")]
    assert on.evidence("fox") == "session 1 ended with exit code 137"
    on.wl("resume", "fox").ok()
    on.wait("fox", "complete")
    assert Path(workspace / "begun").exists()
    assert on.texts("fox").count("be fox") == 1
