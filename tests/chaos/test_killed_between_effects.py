"""The daemon ends with -9 before and after every recorded step of new, kill, merge and undo.

Also before and after everything that is taken back where a step fails.

The command that was under way gets its answer all the same, from the daemon that follows; and what
is there afterwards is what would have been there without the crash, once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.ground import Ground

from windlass.daemon.agents.endings import Endings
from windlass.daemon.agents.merge import Merges
from windlass.daemon.agents.restore import Restores
from windlass.daemon.agents.spawn import Spawns

pytestmark = pytest.mark.slow

NOTHING: Any = None
ENDING = Endings(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING)
OPERATIONS = {
    operation.kind: operation
    for operation in (
        Spawns(NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, lands=NOTHING).operation(),
        ENDING.operation(),
        Merges(NOTHING, NOTHING, ENDING).operation(),
        Restores(NOTHING, NOTHING, NOTHING).operation(),
    )
}
HELLO = (
    {"tool": "Write", "input": {"file_path": "hello.txt", "content": "hello\n"}},
    # Plain lines: while no daemon answers, the policy hook allows nothing else.
    {"tool": "Bash", "input": {"command": "git add hello.txt"}},
    {"tool": "Bash", "input": {"command": "git commit -q -m hello"}},
    {"text": "I HAVE COMPLETED THE GOAL"},
)


def points(kind: str) -> list[Any]:
    """Before and after every step that the operation has, whatever is added to it later.

    Two of them at once, before the end and somewhere in the middle; the others in the long runs.
    """
    steps = [*(step.name for step in OPERATIONS[kind].steps), "finish"]
    every = [f"{kind}.{step}.{when}" for step in steps for when in ("before", "after")]
    chosen = (f"{kind}.{steps[len(steps) // 2]}.after", f"{kind}.finish.before")
    return [pytest.param(p, marks=[] if p in chosen else [pytest.mark.soak]) for p in every]


def points_back(kind: str) -> list[Any]:
    """Before and after everything that is undone where the operation fails, and before its end."""
    undone = [step.name for step in OPERATIONS[kind].steps if step.undo is not None]
    places = [*(f"{name}.undo" for name in undone), "fail"]
    every = [f"{kind}.{place}.{when}" for place in places for when in ("before", "after")]
    chosen = f"{kind}.fail.before"
    return [pytest.param(p, marks=[] if p == chosen else [pytest.mark.soak]) for p in every]


def count(ground: Ground, name: str, *kinds: str) -> dict[str, int]:
    """How often each of these kinds of events was told of an agent."""
    told = [event["kind"] for event in ground.events(name)]
    return {kind: told.count(kind) for kind in kinds}


def arm(ground: Ground, point: str) -> Path:
    """Has the next daemon die at a point; the file that says so is there until it does."""
    folder = ground.shown / "failpoints"
    folder.mkdir(exist_ok=True)
    ground.env["WINDLASS_FAILPOINTS"] = str(folder)
    ground.wl("daemon", "stop").ok()
    (folder / point).touch()
    return folder / point


def sessions_of(ground: Ground, name: str) -> list[str]:
    listed = ground.tmux("list-sessions", "-F", "#{session_name}").stdout.split()
    return [one for one in listed if one.endswith(f"-{name}")]


@pytest.mark.parametrize("point", points("spawn"))
def test_new_survives_a_daemon_killed_at(ground: Ground, point: str) -> None:
    armed = arm(ground, point)
    workspace = ground.new("a1", *HELLO)
    assert not armed.exists(), "the daemon never came to the point"
    ground.wait("a1", states="complete")
    (agent,) = ground.agents()
    assert agent["state"] == "complete"
    assert len(sessions_of(ground, "a1")) == 1
    assert (workspace / "hello.txt").read_text() == "hello\n"
    assert ground.git("log", "--format=%s", "agent/a1") == "hello\nfirst\n"
    assert [e["kind"] for e in ground.events("a1")].count("agent.created") == 1


@pytest.mark.parametrize("point", points("end"))
def test_kill_survives_a_daemon_killed_at(ground: Ground, point: str) -> None:
    workspace = ground.new("a1", *HELLO)
    ground.wait("a1", states="complete")
    (workspace / "loose.txt").write_text("not committed\n")
    armed = arm(ground, point)
    ground.wl("kill", "a1", "--force").ok()
    assert not armed.exists(), "the daemon never came to the point"
    assert ground.agents() == []
    assert not workspace.exists()
    assert sessions_of(ground, "a1") == []
    assert "agent/a1" not in ground.git("branch", "--list")
    (entry,) = ground.wl("trash", "list", "--json").ok().json()
    told = count(ground, "a1", "agent.salvaged", "agent.ended")
    assert told == {"agent.salvaged": 1, "agent.ended": 1}
    ground.wl("trash", "restore", entry["id"]).ok()
    assert (workspace / "loose.txt").read_text() == "not committed\n"
    assert ground.git("log", "--format=%s", "agent/a1") == "hello\nfirst\n"


@pytest.mark.parametrize("point", points("merge"))
def test_merge_survives_a_daemon_killed_at(ground: Ground, point: str) -> None:
    workspace = ground.new("a1", *HELLO)
    ground.wait("a1", states="complete")
    armed = arm(ground, point)
    ground.wl("merge", "a1", "--force").ok()
    assert not armed.exists(), "the daemon never came to the point"
    assert ground.git("log", "--first-parent", "--format=%s") == "Merge agent a1: be a1\nfirst\n"
    assert ground.git("status", "--porcelain") == ""
    assert (ground.folder / "repo" / "hello.txt").read_text() == "hello\n"
    assert ground.agents() == []
    assert not workspace.exists()
    assert len(ground.wl("trash", "list", "--json").ok().json()) == 1
    told = count(ground, "a1", "agent.merged", "agent.salvaged", "agent.ended")
    assert told == {"agent.merged": 1, "agent.salvaged": 1, "agent.ended": 1}


@pytest.mark.parametrize("point", points("restore"))
def test_undo_survives_a_daemon_killed_at(ground: Ground, point: str) -> None:
    workspace = ground.new("a1", *HELLO)
    ground.wait("a1", states="complete")
    (workspace / "loose.txt").write_text("not committed\n")
    ground.wl("kill", "a1", "--force").ok()
    armed = arm(ground, point)
    ground.wl("undo").ok()
    assert not armed.exists(), "the daemon never came to the point"
    (agent,) = ground.agents()
    assert (agent["id"], agent["state"]) == ("a1", "stopped")
    assert (workspace / "loose.txt").read_text() == "not committed\n"
    assert ground.git("log", "--format=%s", "agent/a1") == "hello\nfirst\n"
    assert [e["kind"] for e in ground.events("a1")].count("agent.restored") == 1
    ground.wl("undo").failed(8)
    ground.wl("resume", "a1").ok()


@pytest.mark.parametrize("point", points_back("spawn"))
def test_a_new_that_failed_stays_taken_back_by_a_daemon_killed_at(
    ground: Ground, point: str
) -> None:
    """What made it fail is gone after the crash: who went forward would succeed."""
    armed = arm(ground, point)
    config = ground.state / "config.toml"
    config.write_text(f'{config.read_text()}[workspace]\nsetup = "test ! -e {armed}"\n')
    ground.wl("new", "--driver", "standin", "--name", "a1", "be a1").failed(5)
    assert not armed.exists(), "the daemon never came to the point"
    assert ground.agents() == []
    assert "agent/a1" not in ground.git("branch", "--list")
    (entry,) = ground.wl("trash", "list", "--json").ok().json()
    assert entry["agent"] == "a1"
    events = ground.events()
    assert [e["kind"] for e in events].count("agent.ended") == 1
    assert "session.started" not in [e["kind"] for e in events]
    ground.new("a1", *HELLO)
    ground.wait("a1", states="complete")
