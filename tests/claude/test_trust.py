"""Agents in the person's own configuration: refused until nothing would be asked, never edited."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.scene import Scene

pytestmark = pytest.mark.slow
DONE = {"text": "It is done.\n\nI HAVE COMPLETED THE GOAL"}


@pytest.fixture
def inheriting(on: Scene) -> Scene:
    """Agents that log in as the person does, with a home that Claude Code never saw."""
    on.wl("config", "set", "claude.config", "inherit", "--global").ok()
    on.wl("config", "set", "isolation", "hooks", "--global").ok()
    on.script("fox", {"tool": "Bash", "input": {"command": "true"}}, DONE)
    return on


def set_up(on: Scene) -> Path:
    """What a person has who once ran `claude` and logged in; returns their settings."""
    known = {"hasCompletedOnboarding": True, "theme": "dark"}
    (on.ground.home / ".claude.json").write_text(json.dumps(known))
    settings = on.ground.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"cleanupPeriodDays": 30}\n')
    return settings


def files(home: Path) -> dict[str, tuple[int, bytes]]:
    """Every file of a person, with when it was written and what it says."""
    return {
        str(path.relative_to(home)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in home.rglob("*")
        if path.is_file()
    }


def start(on: Scene) -> tuple[str, ...]:
    """The command that starts an agent."""
    return ("new", "--driver", on.driver, "--name", "fox", "be fox")


def test_a_person_who_never_ran_claude_code_is_told_what_to_do(inheriting: Scene) -> None:
    refused = inheriting.wl(*start(inheriting)).failed(3)
    assert "Claude Code has never been set up here" in refused.err
    assert "run `claude` once and log in" in refused.err
    assert "wl config set claude.config own --global" in refused.err
    assert inheriting.wl("list", "--json").ok().json() == []
    assert files(inheriting.ground.home) == {}


def test_a_headless_agent_needs_nobodys_trust(inheriting: Scene) -> None:
    set_up(inheriting)
    inheriting.wl(*start(inheriting)[:-1], "--print", "be fox").ok()
    inheriting.wait("fox", "complete")


def test_trust_is_accepted_once_for_every_workspace_and_written_by_claude_code_alone(
    inheriting: Scene,
) -> None:
    on, home = inheriting, inheriting.ground.home
    settings = set_up(on)
    before = files(home)
    refused = on.wl(*start(on)).failed(3)
    assert "has not been told to trust" in refused.err
    assert "wl drivers trust claude" in refused.err
    on.wl("drivers", "trust", "claude").failed(2)
    assert files(home) == before

    assert "trusts it now" in on.wl("drivers", "trust", "claude", "--force").ok().out
    after = files(home)
    assert after[".claude/settings.json"] == before[".claude/settings.json"]
    new = set(after) - set(before)
    assert all(name.startswith(".claude/backups/") for name in new), new
    known = json.loads(after[".claude.json"][1])
    root = str(on.ground.state / "workspaces")
    trusted = {
        place for place, entry in known["projects"].items() if entry["hasTrustDialogAccepted"]
    }
    assert trusted == {root}
    # What nobody but Claude Code writes there.
    assert "allowedTools" in known["projects"][root]

    assert "asks for nothing" in on.wl("drivers", "trust", "claude", "--force").ok().out
    assert files(home) == after

    on.wl(*start(on)).ok()
    on.wait("fox", "complete")
    assert on.history("fox") == [
        ("creating", "windlass"),
        ("running", "hook"),
        ("complete", "hook"),
    ]
    assert Path(on.wl("path", "fox").ok().out.strip()).is_relative_to(root)
    assert (settings.stat().st_mtime_ns, settings.read_bytes()) == before[".claude/settings.json"]
