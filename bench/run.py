"""`make bench`: the budgets of the foundation, measured in one run and printed as a table.

Everything is real: the installed `wl`, a daemon, tmux and stand-ins, in a folder of its own that is
removed afterwards. Medians of several runs; on a noisy machine look at the minimum too.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import psutil

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench import box, hooks, mail, notices  # noqa: E402 - as above
from tests.support.ground import WL, Ground  # noqa: E402 - found through the line above

IDLE_SECONDS = 20.0
IDLE_AGENTS = 100


class Row(NamedTuple):
    """One line of the table."""

    what: str
    median: float
    least: float
    unit: str
    budget: float | None
    note: str = ""

    @property
    def verdict(self) -> str:
        """Whether the budget holds."""
        if self.budget is None:
            return ""
        return "ok" if self.median <= self.budget else "OVER"


def timed(work: Callable[[], Any], *, runs: int) -> list[float]:
    """Milliseconds of each run."""
    found = []
    for _ in range(runs):
        began = time.perf_counter()
        work()
        found.append((time.perf_counter() - began) * 1000)
    return found


def row(what: str, times: list[float], budget: float | None, note: str = "") -> Row:
    """A line of milliseconds."""
    return Row(what, statistics.median(times), min(times), "ms", budget, note)


def command(ground: Ground, *args: str) -> Callable[[], Any]:
    """A command to time, its output thrown away."""
    argv = [WL, *args]
    repo = ground.folder / "repo"
    return lambda: subprocess.run(
        argv, cwd=repo, env=ground.env, stdout=subprocess.DEVNULL, check=True
    )


def floors(ground: Ground) -> list[Row]:
    """What a user would pick instead, or cannot go below."""
    env, repo = ground.env, ground.folder / "repo"
    python = [sys.executable, "-c", "pass"]
    tmux = ["tmux", "-S", str(ground.folder / "t"), "-f", "/dev/null"]
    subprocess.run([*tmux, "new-session", "-d", "sleep 600"], env=env, check=True)
    try:
        return [
            row(
                "floor: python -c pass",
                timed(lambda: subprocess.run(python, env=env, check=True), runs=20),
                None,
            ),
            row(
                "floor: git status",
                timed(
                    lambda: subprocess.run(
                        ["git", "status"],
                        cwd=repo,
                        env=env,
                        stdout=subprocess.DEVNULL,
                        check=True,
                    ),
                    runs=20,
                ),
                None,
            ),
            row(
                "floor: tmux list-sessions",
                timed(
                    lambda: subprocess.run(
                        [*tmux, "list-sessions"], env=env, stdout=subprocess.DEVNULL, check=True
                    ),
                    runs=20,
                ),
                None,
            ),
        ]
    finally:
        subprocess.run([*tmux, "kill-server"], env=env, check=False)


def start_up(ground: Ground) -> list[Row]:
    """`wl` and the daemon from nothing."""
    rows = [row("wl help", timed(command(ground, "help"), runs=20), 100)]
    times = []
    for _ in range(5):
        times += timed(command(ground, "list"), runs=1)
        ground.wl("daemon", "stop").ok()
    rows.append(row("wl list, daemon not yet running", times, 1000, "first answer"))
    return rows


def spawn(ground: Ground, name: str) -> float:
    """Starts a stand-in that stays idle; milliseconds until its session runs."""
    script = ground.shown / "idle.script.json"
    if not script.exists():
        script.write_text(json.dumps({"turns": [{"text": "WAITING"}]}))
    began = time.perf_counter()
    args = ("new", "-q", "--driver", "standin", "--script", str(script), "--name", name, "idle")
    command(ground, *args)()
    return (time.perf_counter() - began) * 1000


def crew(ground: Ground) -> list[Row]:
    """Spawns, lists, and what a hundred idle agents cost."""
    rows = [row("wl new, to session running", [spawn(ground, f"one{n}") for n in range(10)], None)]
    rows.append(row("wl list, 10 agents", timed(command(ground, "list"), runs=20), 100))
    rows.append(row("wl (home screen), 10 agents", timed(command(ground), runs=20), 100))
    began = time.perf_counter()
    with ThreadPoolExecutor(32) as pool:
        times = list(pool.map(lambda n: spawn(ground, f"par{n}"), range(32)))
    whole = (time.perf_counter() - began) * 1000
    rows.append(row("32 parallel wl new, each", times, None))
    rows.append(Row("32 parallel wl new, all", whole, whole, "ms", None))
    for number in range(42, IDLE_AGENTS):
        spawn(ground, f"more{number}")
    rows.append(row("wl list, 100 agents", timed(command(ground, "list"), runs=20), None))
    return rows + idle(ground)


def idle(ground: Ground) -> list[Row]:
    """CPU and memory of the daemon while a hundred stand-ins do nothing."""
    pid = ground.daemon_pid()
    daemon = psutil.Process(pid)
    agents = len(ground.wl("list", "--json").ok().json())
    before = sum(daemon.cpu_times()[:2])
    began = time.monotonic()
    time.sleep(IDLE_SECONDS)
    share = (sum(daemon.cpu_times()[:2]) - before) / (time.monotonic() - began) * 100
    megabytes = daemon.memory_info().rss / 1e6
    note = f"{agents} agents, {IDLE_SECONDS:g} s"
    return [
        Row("daemon idle, CPU of a core", share, share, "%", 15, note),
        Row("daemon idle, memory", megabytes, megabytes, "MB", 200, note),
    ]


def _parts(ground: Ground) -> list[hooks.Measured]:
    return [*box.measure(), *hooks.measure(ground), *notices.measure(ground), *mail.measure()]


def show(rows: list[Row]) -> None:
    """Prints the table."""
    print(f"{'what':<36}{'median':>10}{'least':>10}  {'unit':<5}{'budget':>8}  verdict")
    for one in rows:
        budget = "" if one.budget is None else f"{one.budget:g}"
        print(
            f"{one.what:<36}{one.median:>10.1f}{one.least:>10.1f}  {one.unit:<5}{budget:>8}"
            f"  {one.verdict:<5} {one.note}".rstrip()
        )


def main() -> int:
    """Measures everything; ends 1 if a budget is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="wlb-"))
    ground = Ground(folder)
    ground.repository()
    try:
        hooked = [row(*one) for one in _parts(ground)]
        rows = [*floors(ground), *start_up(ground), *hooked, *crew(ground)]
    finally:
        ground.wl("nuke", "--force", "-q", timeout=300)
        ground.leave()
        shutil.rmtree(folder, ignore_errors=True)
    if args.json:
        print(json.dumps([one._asdict() for one in rows], indent=2))
    else:
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end\n")
        show(rows)
    return int(any(one.verdict == "OVER" for one in rows))


if __name__ == "__main__":
    sys.exit(main())
