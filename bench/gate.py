"""What a gate's run costs over the bare command: box, work tree, view of the layer, verdict.

The verbs as `wl gate run` asks them, on a small repository and on one of ten thousand files; beside
them the same command run by a shell in the checkout. Budgets are for what gates do: the one called
parsed does with each file, a hundred lines, what the least of linters does. The one called read
opens each file and does next to nothing with it, 40 microseconds, so that it shows what the view
costs and has no budget. Processor time is told beside the clock's, which others here move.
"""

from __future__ import annotations

import json
import resource
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import psutil
from bench.table import Row, timed
from tests.support.ground import Ground

FILES = 10_000
RUNS = 15
_LINES = 100
_TESTS = """
import hashlib, pathlib, unittest


class Reads(unittest.TestCase):
    def test_every_file_is_what_it_is(self):
        for path in sorted(pathlib.Path("files").rglob("*.txt")):
            data = path.read_bytes()
            for _ in range(40):
                data = hashlib.sha256(data).digest()
            self.assertEqual(len(data), 32)
"""
_PARSES = """
import ast, pathlib, unittest


class Parses(unittest.TestCase):
    def test_every_file_can_be_parsed(self):
        for path in sorted(pathlib.Path("files").rglob("*.txt")):
            self.assertEqual(len(ast.parse(path.read_text()).body), 100)
"""
_RUN = "python3 -m unittest -v"
_SETUP = "mkdir -p deps && for n in 1 2 3 4 5 6 7 8 9; do echo $n >deps/$n; done"


class Cost(NamedTuple):
    """What something took, in milliseconds: by the clock, and of the processor."""

    wall: float
    cpu: float


def measure(ground: Ground) -> list[Row]:
    """Overhead on each repository, and a verdict that is known."""
    rows = []
    shapes = (
        ("small", _TESTS, 50, RUNS),
        ("large, read", _TESTS, FILES, 7),
        ("large, parsed", _PARSES, FILES, 5),
    )
    for name, tests, files, runs in shapes:
        repo = _repository(ground, name, tests, files)
        _proven(ground, repo, fresh=False)
        daemon = psutil.Process(ground.daemon_pid())
        bare, fresh = [], []
        for _ in range(runs):  # in turn: both have the same share of a busy machine
            bare.append(_bare(ground, repo))
            fresh.append(_fresh(ground, repo, daemon))
        is_small = files < FILES
        for unit in Cost._fields:
            floor = [getattr(cost, unit) for cost in bare]
            over = [getattr(cost, unit) - less for cost, less in zip(fresh, floor, strict=True)]
            kind = "" if unit == "wall" else ", cpu"
            budget = None if kind else _BUDGETS[name]
            share = over
            if not is_small:
                share = [more / least * 100 for more, least in zip(over, floor, strict=True)]
            note = f"{files} files"
            rows.append(Row(f"floor: bare command, {name}{kind}", floor, None, note))
            rows.append(Row(f"gate over it, {name}{kind}", share, budget, note, _UNIT[is_small]))
        known = timed(partial(_proven, ground, repo, fresh=False), runs=RUNS)
        rows.append(Row(f"a verdict that is known, {name}", known, 50, f"{files} files"))
    return rows


_UNIT = {True: "ms", False: "%"}
_BUDGETS = {"small": 200, "large, read": None, "large, parsed": 10}


def _repository(ground: Ground, name: str, tests: str, files: int) -> Path:
    repo = ground.repository(f"gated-{name.replace(', ', '-')}")
    for number in range(files):
        file = repo / "files" / f"folder{number % 40}" / f"file{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"line = {number}\n" * _LINES)
    (repo / "test_files.py").write_text(tests)
    gate = {"setup": _SETUP, "deps": ["deps"], "commands": [_RUN]}
    lines = ["[gate]", "setup_network = false"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in gate.items()]
    (repo / ".windlass").mkdir(exist_ok=True)
    (repo / ".windlass" / "config.toml").write_text("\n".join(lines))
    ground.git("add", "-A", "-f", cwd=repo)
    ground.git("commit", "-qm", "files", cwd=repo)
    ground.wl("init", cwd=repo).ok()
    return repo


def _bare(ground: Ground, repo: Path) -> Cost:
    line = ["/bin/sh", "-c", _RUN]
    used, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(line, cwd=repo, env=ground.env, capture_output=True, check=True)
    wall, now = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime
    return Cost(wall * 1000, cpu * 1000)


def _fresh(ground: Ground, repo: Path, daemon: psutil.Process) -> Cost:
    """A run, with what the daemon and all that it started took meanwhile."""
    used = sum(daemon.cpu_times()[:4])
    wall = _proven(ground, repo, fresh=True)
    return Cost(wall, (sum(daemon.cpu_times()[:4]) - used) * 1000)


def _proven(ground: Ground, repo: Path, *, fresh: bool) -> float:
    """Milliseconds until a verdict is told, which has to be green."""
    began = time.perf_counter()
    done = ground.ask("gate.run", cwd=str(repo), fresh=fresh)
    if done["job"]:
        done = ground.ask("gate.wait", job=done["job"])
    took = (time.perf_counter() - began) * 1000
    if done["outcome"] != "passed":
        raise RuntimeError(f"not green: {done}")
    return took
