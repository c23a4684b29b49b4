"""What a crew costs: to start its agents, to list them, and to have a hundred that do nothing."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
from bench.table import Row, timed
from tests.support.ground import WL, Ground

IDLE_SECONDS = 20.0
IDLE_AGENTS = 100


def command(ground: Ground, *args: str) -> Callable[[], Any]:
    """A command to time, its output thrown away."""
    argv = [WL, *args]
    repo = ground.folder / "repo"
    return lambda: subprocess.run(
        argv, cwd=repo, env=ground.env, stdout=subprocess.DEVNULL, check=True
    )


def spawn(ground: Ground, name: str) -> float:
    """Starts a stand-in that stays idle; milliseconds until its session runs."""
    script = ground.shown / "idle.script.json"
    if not script.exists():
        script.write_text(json.dumps({"turns": [{"text": "WAITING"}]}))
    began = time.perf_counter()
    args = ("new", "-q", "--driver", "standin", "--script", str(script), "--name", name, "idle")
    command(ground, *args)()
    return (time.perf_counter() - began) * 1000


def measure(ground: Ground) -> list[Row]:
    """Spawns, lists, and what a hundred idle agents cost; they live on."""
    rows = [Row("wl new, to session running", [spawn(ground, f"one{n}") for n in range(10)], None)]
    rows.append(Row("wl list, 10 agents", timed(command(ground, "list"), runs=20), 100))
    rows.append(Row("wl (home screen), 10 agents", timed(command(ground), runs=20), 100))
    began = time.perf_counter()
    with ThreadPoolExecutor(32) as pool:
        times = list(pool.map(lambda n: spawn(ground, f"par{n}"), range(32)))
    whole = (time.perf_counter() - began) * 1000
    rows.append(Row("32 parallel wl new, each", times, None))
    rows.append(Row("32 parallel wl new, all", [whole], None))
    for number in range(42, IDLE_AGENTS):
        spawn(ground, f"more{number}")
    return [*rows, *_lists(ground), *_idle(ground)]


def _lists(ground: Ground) -> list[Row]:
    """What `wl list` takes with a hundred agents, and how much of it is the daemon's answer."""
    agents = len(ground.agents())
    note = f"{agents} agents"
    return [
        Row("wl list, 100 agents", timed(command(ground, "list"), runs=10), 150, note),
        Row("its answer alone, over the socket", timed(ground.agents, runs=10), 30, note),
    ]


def _idle(ground: Ground) -> list[Row]:
    """CPU and memory of the daemon while a hundred stand-ins do nothing."""
    pid = ground.daemon_pid()
    daemon = psutil.Process(pid)
    agents = len(ground.agents())
    before = sum(daemon.cpu_times()[:2])
    began = time.monotonic()
    time.sleep(IDLE_SECONDS)
    share = (sum(daemon.cpu_times()[:2]) - before) / (time.monotonic() - began) * 100
    megabytes = daemon.memory_info().rss / 1e6
    note = f"{agents} agents, {IDLE_SECONDS:g} s"
    return [
        Row("daemon idle, CPU of a core", [share], 15, note, "%"),
        Row("daemon idle, memory", [megabytes], 200, note, "MB"),
    ]
