"""`wl diff` shows what `wl merge` takes, wherever the agent has it from."""

from __future__ import annotations

import base64

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
