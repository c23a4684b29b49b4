"""What a gate's run costs over the bare command: box, work tree, view of the layer, verdict.

The verbs as `wl gate run` asks them, on a small repository and on one of ten thousand files; beside
them the same command run by a shell in the checkout.
"""

from __future__ import annotations

import json
import subprocess
import time
from functools import partial
from pathlib import Path

from bench.table import Row, timed
from tests.support.ground import Ground

FILES = 10_000
RUNS = 15
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
_RUN = "python3 -m unittest -v"
_SETUP = "mkdir -p deps && for n in 1 2 3 4 5 6 7 8 9; do echo $n >deps/$n; done"


def measure(ground: Ground) -> list[Row]:
    """Overhead on both repositories, and a verdict that is known."""
    rows = []
    for name, files, runs in (("small", 50, RUNS), ("large", FILES, 7)):
        repo = _repository(ground, name, files)
        _proven(ground, repo, fresh=False)
        bare, fresh = [], []
        for _ in range(runs):  # in turn: both have the same share of a busy machine
            bare += timed(partial(_bare, ground, repo), runs=1)
            fresh.append(_proven(ground, repo, fresh=True))
        over = [run - floor for run, floor in zip(fresh, bare, strict=True)]
        rows.append(Row(f"floor: the bare command, {name}", bare, None, f"{files} files"))
        if name == "small":
            rows.append(Row("gate run over it, small", over, 200, f"{files} files"))
        else:
            share = [more / floor * 100 for more, floor in zip(over, bare, strict=True)]
            rows.append(Row("gate run over it, large", share, 10, f"{files} files", "%"))
        known = timed(partial(_proven, ground, repo, fresh=False), runs=RUNS)
        rows.append(Row(f"a verdict that is known, {name}", known, 50, f"{files} files"))
    return rows


def _repository(ground: Ground, name: str, files: int) -> Path:
    repo = ground.repository(f"gated-{name}")
    for number in range(files):
        file = repo / "files" / f"folder{number % 40}" / f"file{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"line {number}\n" * 20)
    (repo / "test_files.py").write_text(_TESTS)
    gate = {"setup": _SETUP, "deps": ["deps"], "commands": [_RUN]}
    lines = ["[gate]", "setup_network = false"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in gate.items()]
    (repo / ".windlass").mkdir(exist_ok=True)
    (repo / ".windlass" / "config.toml").write_text("\n".join(lines))
    ground.git("add", "-A", "-f", cwd=repo)
    ground.git("commit", "-qm", "files", cwd=repo)
    ground.wl("init", cwd=repo).ok()
    return repo


def _bare(ground: Ground, repo: Path) -> None:
    line = ["/bin/sh", "-c", _RUN]
    subprocess.run(line, cwd=repo, env=ground.env, capture_output=True, check=True)


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
