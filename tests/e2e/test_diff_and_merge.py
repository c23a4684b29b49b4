"""`wl diff` shows what `wl merge` takes, wherever the agent has it from."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import pytest
from tests.support.ground import Ground

pytestmark = pytest.mark.slow
STAY = ({"text": "WAITING"}, {"await": "message"})


def _writes(name: str) -> dict[str, object]:
    line = f"echo {name} > {name}; git add .; git commit -qm {name}"
    return {"tool": "Bash", "input": {"command": line}}


def _shown(ground: Ground, name: str) -> set[str]:
    patch = base64.b64decode(ground.ask("diff", agent=name)["committed"]).decode()
    return {line[6:] for line in patch.splitlines() if line.startswith("+++ b/")}


def test_what_an_agent_began_with_is_shown_when_its_manager_is_gone(unboxed: Ground) -> None:
    ground = unboxed
    ground.new("mona", _writes("managers"), *STAY, flags=("--role", "manager"))
    ground.wait("mona", states="waiting")
    ground.new("abe", _writes("own"), *STAY, flags=("--parent", "mona"))
    ground.wait("abe", states="waiting")
    assert _shown(ground, "abe") == {"own"}
    ground.wl("kill", "mona", "--force").ok()
    assert _shown(ground, "abe") == {"managers", "own"}
    before = ground.git("rev-parse", "main").strip()
    ground.wl("merge", "abe", "--force").ok()
    taken = ground.git("diff", "--name-only", before, "main").split()
    assert set(taken) == {"managers", "own"}


def test_a_diff_program_is_shown_folders_that_lie_very_deep_and_nothing_of_them_is_left(
    unboxed: Ground,
) -> None:
    unboxed.new("fox", {"text": "I wait.\n\nWAITING"})
    unboxed.wait("fox", states="waiting")
    deep = "/".join(["d"] * 1500)
    commit = (
        "commit refs/heads/agent/fox\ncommitter a <a@b.c> 0 +0000\ndata 1\nx\n"
        f"from refs/heads/agent/fox^0\nM 100644 inline {deep}/f\ndata 1\nx\n"
    )
    repo = unboxed.folder / "repo"
    subprocess.run(["git", "fast-import", "--quiet"], input=commit.encode(), cwd=repo, check=True)
    tool = unboxed.folder / "tool"
    tool.write_text('#!/bin/sh\ncd "$2" && find . -name f > "$0.found"; echo "$2" > "$0.place"\n')
    tool.chmod(0o755)
    unboxed.wl("diff", "fox", "--tool", str(tool)).ok()
    shown = Path((unboxed.folder / "tool.place").read_text().strip())
    assert not shown.parent.parent.exists()
