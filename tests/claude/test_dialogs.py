"""Dialogs that appear all the same: seen for what they are, and never typed at."""

from __future__ import annotations

import json
import os

import pytest
from tests.support.scene import Scene

pytestmark = pytest.mark.slow
DONE = {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"}
TRUE = {"tool": "Bash", "input": {"command": "true"}}
ASKING = [("creating", "windlass"), ("asking", "screen")]
ANSWERED = [*ASKING, ("creating", "hook"), ("running", "hook"), ("complete", "hook")]


@pytest.fixture
def inheriting(on: Scene) -> Scene:
    """Agents in the configuration of a person who trusts the folder of all workspaces."""
    on.wl("config", "set", "claude.config", "inherit", "--global").ok()
    on.wl("config", "set", "isolation", "hooks", "--global").ok()
    root = os.path.realpath(on.ground.state / "workspaces")
    known = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "projects": {root: {"hasTrustDialogAccepted": True}},
    }
    (on.ground.home / ".claude.json").write_text(json.dumps(known))
    return on


def press(on: Scene, key: str) -> None:
    """Answers as a person who is attached would."""
    session = on.wl("info", "fox", "--json").ok().json()["tmux"]
    assert on.ground.tmux("send-keys", "-t", f"={session}:0.0", key).returncode == 0


def refuses_keys(on: Scene, question: str) -> None:
    """No key is pressed for us: that is refused, with the question; the dialog is as it was."""
    before = on.wl("look", "fox").ok().out
    refused = on.wl("interrupt", "fox").failed(1)
    assert "Escape would answer it" in refused.err
    assert question in refused.err
    assert on.wl("look", "fox").ok().out == before
    assert on.history("fox") == ASKING


def test_a_key_that_nobody_approved_is_asked_about_and_the_agent_waits(inheriting: Scene) -> None:
    on = inheriting
    on.wl("daemon", "stop").ok()
    del on.ground.env["ANTHROPIC_AUTH_TOKEN"]
    on.ground.env["ANTHROPIC_API_KEY"] = "a-key-that-nobody-ever-approved"
    on.new("fox", TRUE, DONE)
    on.wait("fox", "asking")
    assert on.evidence("fox") == "dialog-api-key: Do you want to use this API key? / 1. Yes"
    refuses_keys(on, "Do you want to use this API key?")
    press(on, "1")
    on.wait_for_history("fox", ANSWERED)


def test_a_server_that_the_repository_brings_is_left_out_and_nobody_is_asked(
    inheriting: Scene,
) -> None:
    on = inheriting
    servers = {"mcpServers": {"nothing": {"command": "true"}}}
    (on.ground.folder / "repo" / ".mcp.json").write_text(json.dumps(servers))
    on.ground.git("add", ".")
    on.ground.git("commit", "-q", "-m", "a server")
    on.new("fox", TRUE, DONE)
    on.wait("fox", "asking,complete")
    assert on.history("fox") == [
        ("creating", "windlass"),
        ("running", "hook"),
        ("complete", "hook"),
    ]
