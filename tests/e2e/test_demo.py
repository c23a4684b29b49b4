"""The demo tells the truth and leaves nothing running."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.support.ground import Ground
from tests.support.programs import PLAIN, machine_with

pytestmark = pytest.mark.slow


@pytest.fixture
def scratch(ground: Ground) -> Iterator[Ground]:
    """A ground below which the demo makes its folder; ends what a broken demo leaves."""
    ground.env["TMPDIR"] = str(ground.folder)
    yield ground
    for process in _left(ground):
        process.kill()


def test_the_demo_shows_what_it_says_and_leaves_nothing_running(scratch: Ground) -> None:
    """Seven of eight tasks land, two after they came back; no commit of main is unproven."""
    facts = scratch.wl("demo", "--keep", "--json", cwd=scratch.folder).ok().json()
    repo = Path(facts["folder"]) / "sailing"
    landed = {"FLAG-1", "FLAG-2", "SPEED-1", "NAV-1", "NAV-2", "LOG-1", "TIDE-1"}
    assert facts["tasks"] == {**dict.fromkeys(landed, "landed"), "CHART-1": "failed"}
    board = (repo / ".windlass" / "kanban.md").read_text().splitlines()
    boxes = {line[9 : line.index("]**")]: line[3] for line in board if line.startswith("- [")}
    assert boxes == {**dict.fromkeys(landed, "x"), "CHART-1": "*"}
    commits = scratch.git("rev-list", "--first-parent", "--reverse", "main", cwd=repo).split()
    assert [commit["commit"] for commit in facts["commits"]] == commits
    assert {commit["verdict"] for commit in facts["commits"]} == {"passed"}
    assert (facts["commits"][0]["tests"], facts["commits"][-1]["tests"]) == (4, 13)
    changes = [change for commit in facts["commits"] for change in commit["changes"]]
    assert {change["task"] for change in changes} == landed
    back = {c["task"]: why.split(":")[0] for c in changes for why in c["came_back"]}
    assert back.pop("SPEED-1") == "tests failed"
    ((flag, why),) = back.items()
    assert flag in ("FLAG-1", "FLAG-2")
    assert why == "it conflicts in sailing/flags.py"
    assert facts["killed"]
    status = scratch.git("status", "--porcelain", cwd=repo)
    assert status == " M .windlass/kanban.md\n"
    assert not (repo.parent / "again").exists(), "the clones of its proof are most of it"
    assert _left(scratch) == []
    assert list(scratch.runtime.glob("windlass/*")) == []


@pytest.mark.soak
def test_the_demo_of_a_git_hook_or_an_agent_touches_nothing_of_theirs(scratch: Ground) -> None:
    repo = scratch.folder / "repo"
    before = scratch.git("rev-parse", "HEAD"), scratch.git("status", "--porcelain")
    theirs = {
        "GIT_DIR": str(repo / ".git"),
        "GIT_WORK_TREE": str(repo),
        "GIT_INDEX_FILE": str(repo / ".git" / "index"),
        "WINDLASS_SOCKET": str(scratch.folder / "nobody.sock"),
        "WINDLASS_SESSION": "another/1",
    }
    scratch.wl("demo", env=theirs).ok()
    assert (scratch.git("rev-parse", "HEAD"), scratch.git("status", "--porcelain")) == before
    assert _left(scratch) == []
    assert not list(scratch.folder.glob("windlass-demo-*"))


def test_a_demo_that_is_ended_half_way_leaves_nothing_running(scratch: Ground) -> None:
    playing = scratch.start("demo", cwd=scratch.folder)
    assert playing.stdout is not None
    assert playing.stderr is not None
    with playing:
        assert any("FLAG-1    begins" in line for line in playing.stdout)
        playing.send_signal(signal.SIGTERM)
        playing.stdout.read()
        assert playing.stderr.read() == ""
    assert playing.returncode == 128 + signal.SIGTERM
    assert _left(scratch) == []


def test_a_demo_that_fails_says_why_and_leaves_nothing_running(scratch: Ground) -> None:
    """Without tmux no agent starts, and ending them all cannot go well either."""
    path = machine_with(scratch.folder / "tools", *PLAIN)
    done = scratch.wl("demo", cwd=scratch.folder, env={"PATH": path}).failed(3)
    assert "tmux" in done.err.splitlines()[0]
    assert _left(scratch) == []


def _left(ground: Ground) -> list[psutil.Process]:
    """What lives with its state anywhere below the ground."""
    found = []
    for process in psutil.process_iter():
        try:
            home = process.environ().get("WINDLASS_HOME", "")
            told = [home, *process.cmdline()]
        except (psutil.Error, OSError):
            continue
        if process.pid != os.getpid() and any(str(ground.folder) in word for word in told):
            found.append(process)
    return found
