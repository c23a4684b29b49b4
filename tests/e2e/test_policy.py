"""`wl explain tool`, `wl denials`, `wl init` and `wl ask`: what agents may do, and who says so."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.support.ground import Ground

pytestmark = pytest.mark.slow

STAY = {"text": "WAITING"}


def bash(command: str) -> dict[str, object]:
    return {"tool": "Bash", "input": {"command": command}}


def explain(ground: Ground, event: Any, *flags: str) -> dict[str, str]:
    said = event if isinstance(event, str) else json.dumps(event)
    found: dict[str, str] = (
        ground.wl("explain", "tool", "-", "--json", *flags, stdin=said).ok().json()
    )
    assert set(found) == {"decision", "reason", "rule"}
    return found


def call(tool: str, cwd: str, **given: object) -> dict[str, object]:
    return {"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": given, "cwd": cwd}


def test_a_call_is_explained_as_a_workers_of_this_repository(ground: Ground) -> None:
    ground.wl("config", "set", "policy.shell", "strict").ok()
    here = str(ground.folder / "elsewhere")
    allowed = (
        call("Bash", here, command="git log --oneline | head -3"),
        call("Read", here, file_path=f"{here}/a.txt"),
        call("Bash", here, command="cd sub && ls -la && wl list"),
    )
    for event in allowed:
        assert explain(ground, event)["decision"] == "allow", event
    denied = {
        "unknown": call("Bash", here, command="git log; npm install"),
        "paths": call("Read", here, file_path=f"{ground.folder}/repo/README"),
        "unclear": call("Bash", here, command="git log $("),
        "shared": call("Bash", here, command="git branch -D agent/bea"),
        "network": call("WebFetch", here, url="http://169.254.169.254/", prompt="x"),
        "sandbox": call("Bash", here, command="ls", dangerouslyDisableSandbox=True),
    }
    for rule, event in denied.items():
        found = explain(ground, event)
        assert (found["decision"], found["rule"]) == ("deny", rule), found
    for rule in ("shared", "network", "sandbox"):
        assert explain(ground, denied[rule], "--level", "box")["decision"] == "allow", rule
    assert "npm" in explain(ground, denied["unknown"])["reason"]
    assert "wl config add permissions.worker.allow" in explain(ground, denied["unknown"])["reason"]
    ground.wl("config", "add", "permissions.worker.allow", "Bash(npm install:*)").ok()
    assert explain(ground, denied["unknown"])["decision"] == "allow"
    assert explain(ground, denied["unknown"], "--role", "manager")["decision"] == "deny"
    anything = call("Bash", here, command="anything at all")
    assert explain(ground, anything)["decision"] == "deny"
    assert explain(ground, anything, "--level", "box")["decision"] == "allow"


@pytest.mark.parametrize(
    "said", ["", "no json", "[]", "{}", '{"tool_name": 3}', '{"tool_name": "Bash"}', "[" * 100_000]
)
def test_what_is_no_call_is_denied_and_breaks_nothing(ground: Ground, said: str) -> None:
    found = explain(ground, said)
    assert (found["decision"], found["rule"]) == ("deny", "unclear")


def test_a_call_is_explained_for_one_agent(ground: Ground) -> None:
    ground.unbox()
    workspace = ground.new("fox", STAY, flags=["--deny-tools", "Bash(git push:*)"])
    ground.wait("fox", states="waiting")
    event = call("Bash", str(workspace), command="git push")
    assert explain(ground, event, "--agent", "fox")["rule"] == "Bash(git push:*)"
    assert explain(ground, event)["decision"] == "allow"
    ground.wl("explain", "tool", "-", "--agent", "fox", "--level", "box", stdin="{}").failed(2)
    said = ground.wl("explain", "tool", "-", "--agent", "fox", stdin=json.dumps(event)).ok().out
    assert "deny" in said


def test_denials_are_listed_whole_and_the_line_that_allows_them_works(ground: Ground) -> None:
    ground.wl("config", "set", "policy.shell", "strict").ok()
    ground.wl("config", "set", "isolation", "hooks").ok()
    ground.new(
        "fox",
        bash("curl -s http://127.0.0.1:9/'a b'"),
        {"tool": "Read", "input": {"file_path": "/etc/passwd"}},
        STAY,
    )
    ground.wait("fox", states="waiting")
    one, two = ground.wl("denials", "fox", "--json").ok().json()
    assert one["tool"] == "Bash"
    assert one["input"]["command"] == "curl -s http://127.0.0.1:9/'a b'"
    assert (one["hook"], one["by"]) == ("PreToolUse", "daemon")
    assert two["input"] == {"file_path": "/etc/passwd"}
    assert "/etc/passwd" in two["reason"]
    assert ground.wl("denials", "fox", "--hook", "PermissionRequest", "--json").ok().json() == []
    printed = ground.wl("denials", "fox").ok().out
    assert "curl -s" in printed
    (line,) = ground.wl("denials", "fox", "--suggest").ok().out.splitlines()
    assert line == "wl config add permissions.worker.allow 'Bash(curl:*)'"
    ground.wl("config", "add", "permissions.worker.allow", "Bash(curl:*)").ok()
    ground.new("two", bash("curl -s http://127.0.0.1:9/"), STAY)
    ground.wait("two", states="waiting")
    assert ground.wl("denials", "two").ok().out == "nothing was denied\n"


def test_init_proposes_what_it_finds_and_writes_only_what_was_accepted(ground: Ground) -> None:
    (ground.folder / "repo" / "Makefile").write_text("all:\n")
    said = ground.wl("init").ok().out
    assert "Bash(make:*)" in said
    assert "wl init --accept" in said
    assert ground.wl("config", "get", "permissions.worker.allow", "--json").ok().json() == []
    ground.git("config", "user.name", "Ann")
    ground.git("config", "user.email", "ann@example.org")
    assert "may now run" in ground.wl("init", "--accept").ok().out
    for role in ("worker", "manager"):
        allowed = ground.wl("config", "get", f"permissions.{role}.allow", "--json").ok().json()
        assert allowed == ["Bash(make:*)", "Bash(cc:*)"]
    assert "Bash(make:*)" not in ground.wl("init").ok().out


def test_the_projects_own_commands_are_always_allowed(ground: Ground) -> None:
    ground.wl("config", "set", "policy.shell", "strict").ok()
    here = str(ground.folder / "elsewhere")
    event = call("Bash", here, command="tox -e py311 -- -k one")
    assert explain(ground, event)["decision"] == "deny"
    ground.wl("config", "add", "gate.commands", "tox -e py311").ok()
    assert explain(ground, event)["decision"] == "allow"
    other = call("Bash", here, command="tox -e other")
    assert explain(ground, other)["decision"] == "deny"


def test_a_question_goes_to_whoever_is_above_and_is_open_until_it_is_answered(
    ground: Ground,
) -> None:
    child = ground.script("child", bash("wl ask 'which colour?'"), STAY)
    ground.new(
        "lead",
        bash(f"wl new -q --driver standin --script {child} --name hand x"),
        bash("wl wait hand --for waiting --timeout 60; wl questions > asked.txt"),
        bash("wl ask 'may I push?' > told.txt"),
        STAY,
        flags=["--manager"],
    )
    ground.wait("lead", states="waiting")
    workspace = ground.state / "workspaces"
    (asked,) = workspace.glob("*/lead/asked.txt")
    assert "hand asks" in asked.read_text()
    (open_one,) = ground.wl("questions", "--json").ok().json()
    assert (open_one["agent"], open_one["text"]) == ("lead", "may I push?")
    assert "may I push?" in ground.wl().ok().out
    ground.wl("ask", "x").failed(7)
    ground.wl("send", "lead", "something else").ok()
    ground.wl("answer", "lead", "no").ok()
    assert ground.wl("questions", "--json").ok().json() == []
