"""Agents that come and go by the hundred: what of them stays in the daemon's memory and on disk.

The daemon is a process of its own, with real sockets, git and a real store; see `churn_daemon.py`
for what is not real. Each agent has a workspace, uses tools, leaves a file that nobody committed,
and is ended. Nobody listens to notices, as in a night.

`WINDLASS_BENCH_AGENTS=1000 bench/run.py churn` is the long way, of ten minutes and more.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from bench.table import Row
from tests.support.ground import Ground, until

from windlass.api import client

AGENTS = int(os.environ.get("WINDLASS_BENCH_AGENTS", "300"))
_STEP = 25
_AT_ONCE = 2
_CALLS = 20
_MEMORY_KIB, _DISK_KIB, _LEFT_KIB = 12, 100, 12
_BOUNDED = ("backups", "windlass.db-*")
"""What has a size of its own, whoever comes and goes: five copies of the store, and its log."""


class Sample(NamedTuple):
    """What the daemon takes after so many agents."""

    agents: int
    memory: float
    disk: float


def measure() -> list[Row]:
    """The slopes, in KiB for each agent, and what of the disk's stays when all of it is over."""
    folder = Path(tempfile.mkdtemp(prefix="wlb-"))
    ground = Ground(folder)
    ground.repository()
    ground.unbox()
    program = Path(__file__).with_name("churn_daemon.py")
    env = {**ground.env, "PYTHONPATH": str(program.parents[1])}
    daemon = subprocess.Popen([sys.executable, "-P", str(program)], env=env)
    try:
        return _Churn(ground, daemon.pid).measure()
    finally:
        daemon.terminate()
        daemon.wait()
        ground.leave()
        shutil.rmtree(folder, ignore_errors=True)


class _Churn:
    """The agents of one daemon."""

    def __init__(self, ground: Ground, pid: int) -> None:
        self._ground = ground
        self._pid = pid
        self._daemon = psutil.Process(pid)
        self._endings: list[float] = []
        until(lambda: any(ground.runtime.glob("windlass/*/person.sock")), what="the daemon")
        (self._socket,) = ground.runtime.glob("windlass/*/person.sock")

    def measure(self) -> list[Row]:
        """Has all of them come and go, in two generations, each of which is over at its end.

        The second finds the room that the first one left in the store: what grows from one end to
        the other stays for ever. Memory is measured late in it: until then caches fill.
        """
        half = AGENTS // 2
        self._generation(0, half)
        first = self._over()
        later = self._generation(half, AGENTS)
        left = (self._over() - first) / half
        warm = later[len(later) // 3 :]
        memory, disk = _slope(warm, "memory"), _slope(later, "disk")
        some = AGENTS // 10
        note = f"{AGENTS} agents, {later[-1].memory / 1024:.0f} MiB at the end"
        return [
            Row("churn: memory by agent", [memory], _MEMORY_KIB, note, "KiB"),
            Row("churn: disk by agent", [disk], _DISK_KIB, "as long as all is kept", "KiB"),
            Row("churn: disk by agent, years later", [left], _LEFT_KIB, "after wl gc", "KiB"),
            Row("churn: ending one, the first tenth", self._endings[:some], None),
            Row("churn: ending one, the last tenth", self._endings[-some:], None),
        ]

    def _generation(self, first: int, end: int) -> list[Sample]:
        samples = []
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for begin in range(first, end, _STEP):
                until_then = min(begin + _STEP, end)
                list(pool.map(self._come_and_go, range(begin, until_then)))
                samples.append(self._sample(until_then))
        return samples

    def _over(self) -> float:
        """Has everything be older than it is kept, and go; the disk that is taken then."""
        os.kill(self._pid, signal.SIGUSR1)
        self._ask("gc")
        return self._sample(0).disk

    def _come_and_go(self, number: int) -> None:
        name = f"a{number}"
        how = {"driver": "standin", "isolation": "hooks"}
        made = self._ask("spawn", goal="be one of many", name=name, key=f"begin-{name}", **how)
        self._work(made["uid"])
        Path(made["workspace"], "work.txt").write_text(f"{number}\n" * 100)
        began = time.perf_counter()
        self._ask("end", agents=[name], key=f"end-{name}")
        self._endings.append((time.perf_counter() - began) * 1000)

    def _work(self, uid: str) -> None:
        """Tells of a turn with some tool calls, as the hooks of a session do."""
        (wake,) = self._ground.runtime.glob(f"windlass/*/{uid[:8]}/wake")
        calls = [{"tool_name": "Bash", "tool_input": {"command": f"ls {n}"}} for n in range(_CALLS)]
        events: list[dict[str, Any]] = [
            {"hook_event_name": "SessionStart", "source": "startup"},
            {"hook_event_name": "UserPromptSubmit", "prompt": "be one of many"},
            *({"hook_event_name": "PreToolUse", **call} for call in calls),
            {"hook_event_name": "Stop", "last_assistant_message": "WAITING"},
        ]
        file = self._ground.state / "agents" / uid / "sessions" / "1" / "events.jsonl"
        with file.open("a") as lines:
            for event in events:
                lines.write(json.dumps({"at": time.time(), "event": event}) + "\n")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as poke:
            poke.sendto(b"hook", str(wake))

    def _sample(self, agents: int) -> Sample:
        folders = (self._ground.state, self._ground.folder / "repo" / ".git")
        argv = ["du", "-sk", *(f"--exclude={name}" for name in _BOUNDED), *map(str, folders)]
        said = subprocess.run(argv, capture_output=True, check=False)
        disk = sum(int(line.split(b"\t")[0]) for line in said.stdout.splitlines())
        return Sample(agents, self._daemon.memory_info().rss / 1024, disk)

    def _ask(self, verb: str, **request: Any) -> Any:
        whole = {"cwd": str(self._ground.folder / "repo"), **request}
        return client.ask(verb, whole, path=str(self._socket), timeout=300.0)


def _slope(samples: list[Sample], kind: str) -> float:
    agents = [sample.agents for sample in samples]
    return statistics.linear_regression(agents, [getattr(s, kind) for s in samples]).slope
