"""The demo tells the truth and leaves nothing running."""

from __future__ import annotations

import shutil
from pathlib import Path

import psutil
import pytest
from tests.support.ground import Ground

pytestmark = pytest.mark.slow


def test_the_demo_shows_what_it_says_and_leaves_nothing_running(ground: Ground) -> None:
    done = ground.wl("demo", "--json", cwd=ground.folder, env={"TMPDIR": str(ground.folder)}).ok()
    facts = done.json()
    folder = Path(facts["folder"])
    assert facts["restored"] == ["README.md", "sketch.md"]
    assert ground.git("rev-parse", "main", cwd=folder / "repo").strip() == facts["merged"]
    charts = sorted(path.name for path in (folder / "repo" / "charts").iterdir())
    assert charts == ["north.md", "south.md", "west.md"]
    left = [p for p in psutil.process_iter(["cmdline"]) if folder.name in str(p.info["cmdline"])]
    assert left == []
    assert ground.processes() == []
    shutil.rmtree(folder)
