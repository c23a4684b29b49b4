"""What the real Claude Code logs in with in a box, and what happens where nothing works there.

The person's own login is an interactive one; a box shows nothing of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.claude import seed
from tests.support.scene import Scene

pytestmark = pytest.mark.slow
DONE = {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"}
LOOK = {"tool": "Bash", "input": {"command": "env | grep -c 'ANTHROPIC_API_KEY\\|OAUTH_TOKEN'"}}
KEY = "sk-ant-api03-a-key-that-is-no-key-at-all"


@pytest.fixture
def person(on: Scene) -> Path:
    """A person who has logged in by hand; returns where a token may be kept."""
    on.wl("config", "set", "claude.config", "inherit", "--global").ok()
    del on.ground.env["ANTHROPIC_AUTH_TOKEN"]
    on.wl("daemon", "stop").ok()  # its sessions have the environment that it began with
    config = seed(on.ground.home, [on.ground.state / "workspaces"])
    (config / ".claude.json").rename(on.ground.home / ".claude.json")
    login = {"claudeAiOauth": {"accessToken": "of-the-person", "refreshToken": "r"}}
    (config / ".credentials.json").write_text(json.dumps(login))
    return on.ground.home / "token"


def spawn(on: Scene, *flags: str) -> dict[str, Any]:
    """Starts a fox and returns what is said of it."""
    on.script("fox", LOOK, DONE)
    made = on.wl("new", "--driver", "claude", "--name", "fox", *flags, "--json", "be fox")
    found: dict[str, Any] = made.ok().json()
    return found


@pytest.mark.parametrize("by", ["token file", "key file", "key variable"])
def test_a_box_is_logged_in_by(on: Scene, person: Path, by: str) -> None:
    """A token by file, and an API key by file and by variable; live sessions ask nobody."""
    if by == "key variable":
        on.ground.env["ANTHROPIC_API_KEY"] = KEY
    else:
        person.write_text(f"{KEY}\n")
        person.chmod(0o600)
        key = "claude.token_file" if by == "token file" else "claude.api_key_file"
        on.wl("config", "set", key, str(person), "--global").ok()
    made = spawn(on, *(["--print"] if by == "key file" else []))
    assert (made["isolation"], made["unboxed"]) == ("box", "")
    on.wait("fox")
    assert [state for state, _ in on.history("fox")] == ["creating", "running", "complete"]
    on.wl("pause", "fox").ok()  # it writes as long as it runs
    kept = on.ground.state / "agents" / made["uid"]
    holding = [
        path.relative_to(kept)
        for path in kept.rglob("*")
        if path.is_file() and KEY.encode() in path.read_bytes()
    ]
    assert holding == []


def test_a_login_by_hand_reaches_hooks_and_says_what_would_reach_a_box(
    on: Scene, person: Path
) -> None:
    refused = on.wl("new", "--driver", "claude", "--isolation", "required", "be fox").failed(3)
    assert "no box: Claude Code has nothing to log in with" in refused.err
    assert "claude setup-token" in refused.err
    assert on.ground.agents() == []
    assert on.ground.git("branch", "--list", "agent/*") == ""
    assert list((on.ground.state / "workspaces").rglob("*/README")) == []
    made = spawn(on, "--print")
    assert made["isolation"] == "hooks"
    assert "nothing to log in with" in made["unboxed"]
    assert "wl config set claude.token_file FILE --global" in made["to_box"]
    assert not person.exists()
