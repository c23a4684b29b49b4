"""The whole path of one agent, as a person walks it."""

from __future__ import annotations

import pytest
from tests.support.ground import Ground

pytestmark = pytest.mark.slow


def test_an_agent_is_started_watched_and_merged(ground: Ground) -> None:
    ground.wl("new", "--driver", "standin", "--name", "a1", "say hello").ok()
    ground.wl("wait", "a1", "--timeout", "30").ok()
    (agent,) = ground.agents()
    assert agent["id"] == "a1"
    assert agent["state"] == "complete"
    assert agent["branch"] == "agent/a1"
    assert {"role", "parent", "age"} <= agent.keys()
    assert "say hello" in ground.wl("diff", "a1").ok().out
    ground.wl("merge", "a1", "--force").ok()
    assert "Merge agent a1" in ground.git("log", "--format=%s", "-1")
    assert (ground.folder / "repo" / "notes" / "a1.md").exists()
    assert ground.git("status", "--porcelain") == ""
    assert ground.agents() == []


def test_killing_the_daemon_between_any_two_commands_changes_no_answer(ground: Ground) -> None:
    ground.wl("new", "--driver", "standin", "--name", "a1", "say hello").ok()
    ground.wait("a1")
    before = ground.agents()
    ground.kill_daemon()
    after = ground.agents()
    timeless = [
        [{k: v for k, v in one.items() if not k.endswith("age")} for one in answer]
        for answer in (before, after)
    ]
    assert timeless[0] == timeless[1]
    ground.kill_daemon()
    ground.wl("merge", "a1", "--force").ok()
    ground.kill_daemon()
    assert ground.agents() == []
    assert "Merge agent a1" in ground.git("log", "--format=%s", "-1")
