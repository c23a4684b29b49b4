from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.hooks.conftest import hook, told
from tests.support.ground import Ground, until

pytestmark = pytest.mark.slow


class Asked:
    """An agent of a real daemon, and its policy hook."""

    def __init__(self, ground: Ground, *flags: str) -> None:
        self.ground = ground
        self.workspace = ground.new("ann", {"text": "WAITING"}, flags=flags)
        (found,) = (row for row in ground.agents() if row["id"] == "ann")
        self.folder = ground.state / "agents" / found["uid"]
        (self.sockets,) = ground.runtime.glob(f"windlass/*/{found['uid'][:8]}")
        self.events = ground.folder / "events"

    def hook(self, body: bytes) -> dict[str, Any]:
        """Runs the hook as the agent's CLI would."""
        paths = [self.events, self.sockets / "wake", self.sockets / "api"]
        arguments = map(str, [*paths, self.folder / "policy.json"])
        done = hook("policy", *arguments, body=body)
        assert (done.returncode, done.stderr) == (0, b"")
        said: dict[str, Any] = json.loads(done.stdout)
        return said

    def ask(self, tool: str, **given: Any) -> tuple[str, str]:
        """The decision and its reason."""
        event = {"hook_event_name": "PreToolUse", "cwd": str(self.workspace), "tool_name": tool}
        said = self.hook(json.dumps({**event, "tool_input": given}).encode())["hookSpecificOutput"]
        return said["permissionDecision"], said["permissionDecisionReason"]


def test_the_daemon_decides_by_the_agents_policy_and_its_places(ground: Ground) -> None:
    asked = Asked(ground, "--deny", "Bash(git push:*)")
    other = ground.new("bob", {"text": "WAITING"})
    (asked.workspace / "out").symlink_to(other)
    for tool, given in (
        ("Read", {"file_path": "README"}),
        ("Write", {"file_path": str(asked.folder / "config" / "memory.md")}),
        ("Bash", {"command": "make | tee log"}),
        ("WebFetch", {"url": "https://example.com"}),
    ):
        assert asked.ask(tool, **given) == ("allow", f"allowed by {tool}")
    for path in (
        *(other / "README", ground.folder / "repo" / "README", ground.state / "windlass.db"),
        *(asked.folder / "policy.json", asked.folder / "settings.json"),
        *(asked.workspace / "out" / "README", asked.workspace / "no" / ".." / ".." / "x"),
    ):
        verdict, why = asked.ask("Read", file_path=str(path))
        assert (verdict, "outside" in why) == ("deny", True), path
    assert "Bash(git push:*)" in asked.ask("Bash", command="ls && git push")[1]
    assert "permissions.worker.allow 'mcp__a__b'" in asked.ask("mcp__a__b")[1]
    assert "WAITING" in asked.ask("AskUserQuestion")[1]
    denials = [one for one in told(asked.events) if one["hook_event_name"] == "PolicyDecision"]
    assert {one["by"] for one in denials} == {"daemon"}
    assert denials[-1]["asked"]["tool_name"] == "AskUserQuestion"


def test_the_verb_denies_what_is_no_call_and_answers_only_agents(ground: Ground) -> None:
    asked = Asked(ground)
    for body in (b"{}", b'{"tool_name": 1, "tool_input": [], "cwd": {}}', b"[]", b"nonsense"):
        assert asked.hook(body)["hookSpecificOutput"]["permissionDecision"] == "deny"
    by = [one["by"] for one in told_of(asked) if one.get("hook_event_name") == "PolicyDecision"]
    assert by == ["daemon", "daemon", "hook", "hook"]
    request = {"hook_event_name": "PermissionRequest", "cwd": "/", "tool_name": "TodoWrite"}
    said = asked.hook(json.dumps({**request, "tool_input": {}}).encode())
    assert said["hookSpecificOutput"]["decision"] == {"behavior": "allow"}
    (person,) = ground.runtime.glob("windlass/*/person.sock")
    done = hook(
        "policy",
        *(str(asked.events), "x", str(person), str(asked.folder / "policy.json")),
        body=json.dumps({**request, "tool_name": "WebFetch", "tool_input": {}}).encode(),
    )
    # The person's socket refuses, so the file decides, which knows nothing of WebFetch.
    assert b"does not answer" in done.stdout


def test_without_a_daemon_the_file_decides_and_denials_are_read_later(ground: Ground) -> None:
    asked = Asked(ground)
    ground.kill_daemon()
    path = asked.folder / "policy.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert asked.ask("Read", file_path="README")[0] == "allow"
    assert asked.ask("Read", file_path=str(ground.folder / "repo" / "README"))[0] == "deny"
    assert asked.ask("Unheard", x="y")[0] == "deny"
    assert [e["by"] for e in told(asked.events) if "by" in e] == ["policy file"] * 2


def test_what_hooks_record_is_in_the_agents_log(ground: Ground) -> None:
    asked = Asked(ground)
    with sqlite3.connect(ground.state / "windlass.db") as store:
        ((number,),) = store.execute("select session from agents where id = 'ann'")
    asked.events = asked.folder / "sessions" / str(number) / "events.jsonl"
    assert asked.ask("Unheard", x="y")[0] == "deny"

    def seen() -> bool:
        kinds = [event["kind"] for event in ground.events("ann")]
        return "hook.PreToolUse" in kinds and "hook.PolicyDecision" in kinds

    until(seen, what="the denial in the log")


def told_of(asked: Asked) -> list[dict[str, Any]]:
    """The events that are JSON objects; what the hook was given may be neither."""
    found = []
    for line in Path(os.fspath(asked.events)).read_bytes().splitlines():
        try:
            event = json.loads(line)["event"]
        except ValueError:
            continue
        if isinstance(event, dict):
            found.append(event)
    return found
