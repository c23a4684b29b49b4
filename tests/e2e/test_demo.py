"""The demo tells the truth and leaves nothing running."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.support.ground import WL, Ground

pytestmark = pytest.mark.slow


@pytest.fixture
def scratch(ground: Ground) -> Iterator[Ground]:
    """A ground below which the demo makes its folder; ends what a broken demo leaves."""
    ground.env["TMPDIR"] = str(ground.folder)
    yield ground
    for process in _left(ground):
        process.kill()


def test_the_demo_shows_what_it_says_and_leaves_nothing_running(scratch: Ground) -> None:
    done = scratch.wl("demo", "--json", cwd=scratch.folder).ok()
    facts = done.json()
    folder = Path(facts["folder"])
    assert facts["restored"] == ["README.md", "sketch.md"]
    assert scratch.git("rev-parse", "main", cwd=folder / "repo").strip() == facts["merged"]
    charts = sorted(path.name for path in (folder / "repo" / "charts").iterdir())
    assert charts == ["north.md", "south.md", "west.md"]
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
    scratch.wl("demo", "--clean", env=theirs).ok()
    assert (scratch.git("rev-parse", "HEAD"), scratch.git("status", "--porcelain")) == before
    assert _left(scratch) == []
    assert not list(scratch.folder.glob("windlass-demo-*"))


def test_a_demo_that_is_ended_half_way_leaves_nothing_running(scratch: Ground) -> None:
    playing = scratch.start("demo", cwd=scratch.folder)
    assert playing.stdout is not None
    assert playing.stderr is not None
    with playing:
        assert any("gull" in line for line in playing.stdout)
        playing.send_signal(signal.SIGTERM)
        playing.stdout.read()
        assert playing.stderr.read() == ""
    assert playing.returncode == 128 + signal.SIGTERM
    assert _left(scratch) == []


def test_a_demo_that_fails_says_why_and_leaves_nothing_running(scratch: Ground) -> None:
    """Without tmux no agent starts, and ending them all cannot go well either."""
    tools = scratch.folder / "tools"
    tools.mkdir()
    (tools / "git").symlink_to(shutil.which("git") or "")
    path = os.pathsep.join((str(tools), str(Path(WL).parent)))
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
