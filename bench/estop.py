"""What `wl estop` takes to end twenty agents at work, whose daemon was killed a moment before.

Once with a daemon that stays away, and once with one that holders are bringing back meanwhile.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.table import Row
from tests.support.ground import Ground, end, until

AGENTS = 20
RUNS = 3
_BUDGET = 2000
_TURN = {"tool": "Bash", "input": {"command": "touch begun; (trap '' TERM HUP; sleep 600) & wait"}}


def measure() -> list[Row]:
    """Milliseconds, as the command says them itself; raises where somebody survives."""
    note = f"{AGENTS} agents, deaf to TERM"
    return [
        Row("wl estop, daemon dead", _times(comes_back=False), _BUDGET, note),
        Row("wl estop, daemon being brought back", _times(comes_back=True), _BUDGET, note),
    ]


def _times(*, comes_back: bool) -> list[float]:
    return [_once(comes_back=comes_back) for _ in range(RUNS)]


def _once(*, comes_back: bool) -> float:
    folder = Path(tempfile.mkdtemp(prefix="wlb-"))
    ground = Ground(folder)
    ground.repository()
    ground.unbox()
    ground.warm = False  # a daemon that `wl` did not start is not brought back
    try:
        ground.wl("list").ok()
        _crew(ground)
        if not comes_back:
            (ground.state / "daemon.start").unlink()
        daemon = ground.living_daemon()
        if daemon is not None:
            end([daemon])
        told = ground.wl("estop", "--json").ok().json()
        if (told["stopped"], told["survivors"]) != (AGENTS, []):
            raise AssertionError(json.dumps(told))
        return float(told["seconds"]) * 1000
    finally:
        ground.leave()
        shutil.rmtree(folder, ignore_errors=True)


def _crew(ground: Ground) -> None:
    with ThreadPoolExecutor(4) as pool:
        workspaces = list(pool.map(lambda n: ground.new(f"a{n}", _TURN), range(AGENTS)))
    for workspace in workspaces:
        until((workspace / "begun").exists, within=120, what=f"work in {workspace}")
