"""How soon a waiting `wl listen` prints a notice, from the request that posts it to its line."""

from __future__ import annotations

import subprocess
import time

from bench.table import Row
from tests.support.ground import WL, Ground, until

RUNS = 20


def measure(ground: Ground) -> list[Row]:
    """Each listener is a program of its own that has begun to wait: its start is not measured."""
    ground.ask("repo.add")
    times = [_once(ground, number) for number in range(RUNS)]
    return [Row("notice to a waiting wl listen", times, 50, "posted by an agent or `wl notify`")]


def _once(ground: Ground, number: int) -> float:
    listener = subprocess.Popen(
        [WL, "listen"], cwd=ground.folder / "repo", env=ground.env, stdout=subprocess.PIPE
    )
    with listener:
        until(lambda: _is_waited_for(ground), what="a listener")
        began = time.perf_counter()
        ground.ask("notify", text=f"notice {number}")
        if listener.stdout is None or f"notice {number}".encode() not in listener.stdout.readline():
            raise AssertionError(number)
        return (time.perf_counter() - began) * 1000


def _is_waited_for(ground: Ground) -> bool:
    probe = ground.ask("listen", route="listen", listener="bench", timeout=0)
    return bool(probe["why"] == "busy")
