"""A role of a repository's own, from its file to its agents."""

from __future__ import annotations

import pytest
from tests.support.ground import Ground

pytestmark = pytest.mark.slow

STAY = {"text": "WAITING"}
TEXT = """---
description: finds what is wrong with a change
spawns: true
readonly: true
---
Report what you find; mend nothing.
"""


def test_a_reviewer_is_started_told_written_to_and_kept_within_its_role(unboxed: Ground) -> None:
    refused = unboxed.wl("new", "--driver", "standin", "--role", "reviewer", "look").failed(8)
    assert "there are manager, worker" in refused.err
    assert ".windlass/roles/reviewer.md" in refused.err

    folder = unboxed.folder / "repo" / ".windlass" / "roles"
    folder.mkdir(parents=True)
    (folder / "reviewer.md").write_text(TEXT)
    unboxed.wl("config", "add", "permissions.reviewer.deny", "Bash(git push:*)").ok()
    spawn = {"tool": "Bash", "input": {"command": "wl new --driver standin x > out.txt 2>&1"}}
    script = unboxed.script("rex", spawn, STAY)
    words = ("new", "--driver", "standin", "--name", "rex", "--role", "reviewer")
    made = unboxed.wl(*words, "--script", script, "look at it").ok().out
    assert "rex started as a reviewer" in made
    assert "wl config set --global roles.reviewer.spawns true" in made
    unboxed.wait("rex", states="waiting")

    (agent,) = unboxed.agents()
    assert (agent["role"], agent["readonly"], agent.get("persistent")) == ("reviewer", True, None)
    about = unboxed.wl("info", "rex", "--json").ok().json()
    assert "Bash(git push:*)" in about["policy"]["deny"]
    assert "readonly      True" in unboxed.wl("info", "rex").ok().out
    said = unboxed.wl("info", "rex", "--prompt").ok().out
    assert said.startswith("<windlass>You are a Windlass reviewer agent.</windlass>\n")
    assert said.endswith("\n\nReport what you find; mend nothing.\n")
    told = next(unboxed.state.glob("workspaces/*/rex/out.txt")).read_text()
    assert "rex is a reviewer, and reviewers do not start agents" in told

    (sent,) = unboxed.wl("send", "reviewer", "well done", "--json").ok().json()
    assert sent["to"] == "rex"
    offered = unboxed.wl("__complete", "new", "--role", "rev").ok().out
    assert offered == "reviewer\n"
