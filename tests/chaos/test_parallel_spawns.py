"""Thirty-two people press Enter at once, ten times in a row."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.support.ground import Done, Ground

pytestmark = pytest.mark.slow


@pytest.mark.soak
def test_thirty_two_parallel_spawns_all_succeed_ten_times(ground: Ground) -> None:
    script = ground.script("idle", {"text": "WAITING"})

    def spawn(name: str) -> Done:
        args = ("new", "-q", "--driver", "standin", "--script", script, "--name", name, "x")
        return ground.wl(*args, timeout=300)

    for turn in range(10):
        with ThreadPoolExecutor(32) as pool:
            for done in pool.map(spawn, [f"t{turn}n{n}" for n in range(32)]):
                done.ok()
        assert len(ground.agents()) == 32
        ground.wl("nuke", "--force", timeout=300).ok()
