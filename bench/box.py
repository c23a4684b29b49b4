"""What a box costs: the same session started with and without one, turn by turn.

From the call that starts it to the first word of its program, in a real tmux under a real holder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from bench.table import Row

from windlass.box import groups, wrapper
from windlass.core.box_spec import BoxSpec, Network, Quota
from windlass.core.session_launch import Launch
from windlass.sessions.session import TmuxSessions
from windlass.sessions.tmux import Tmux

RUNS = 30
BUDGET = 60.0
_QUOTA = Quota(memory=4 << 30, processes=512, open_files=4096, file_size=1 << 30, temp_size=1 << 28)


class Starts:
    """Sessions whose program says one word into a fifo and ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._work = folder / "work"
        self._work.mkdir()
        self._sessions = TmuxSessions(Tmux(folder / "t"))
        self._number = 0

    def start(self, network: Network | None) -> float:
        """Milliseconds from the start of one to its word; None is without a box."""
        self._number += 1
        folder = self._folder / f"s{self._number}"
        sockets = self._folder / "sock"
        sockets.mkdir(exist_ok=True)
        said = self._work / "said"
        said.unlink(missing_ok=True)
        os.mkfifo(said)
        argv = ("/bin/sh", "-c", f"echo x >{said}")
        env = {"PATH": "/usr/bin:/bin"}
        launch = Launch(argv=argv, cwd=str(self._work), env=env, mode="live")
        began = time.perf_counter()
        if network is not None:
            boxing = BoxSpec(writable=(str(self._work),), network=network, quota=_QUOTA)
            launch = wrapper.wrap(launch, boxing, folder=folder, sockets=sockets)
        name = f"s{self._number}"
        self._sessions.start(folder=folder, name=name, launch=launch, wake=None, marker=name)
        with said.open() as heard:
            heard.read()
        took = (time.perf_counter() - began) * 1000
        while self._sessions.facts(folder, name).exit_code is None:
            time.sleep(0.002)
        groups.remove(folder)
        return took

    def close(self) -> None:
        """Ends the tmux server."""
        self._sessions.tmux.shutdown()


def measure(*, runs: int = RUNS) -> list[Row]:
    """Starts of each kind, one after the other, because the machine is never quiet."""
    folder = Path(tempfile.mkdtemp(prefix="wlbench", dir="/tmp"))
    starts = Starts(folder)
    kinds: dict[str, Network | None] = {"unboxed": None, "host": "host", "none": "none"}
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    try:
        starts.start(None)
        starts.start("none")
        for _ in range(runs):
            for kind, network in kinds.items():
                times[kind].append(starts.start(network))
        line = wrapper.prefix(BoxSpec(), folder=folder / "one")
        commands = [_run([*line, "/bin/true"]) for _ in range(runs)]
    finally:
        starts.close()
        shutil.rmtree(folder, ignore_errors=True)
    return [
        Row("session, unboxed, to its first word", times["unboxed"], None),
        *(
            Row(f"a box, network {kind}, added to that", _added(times, kind), BUDGET)
            for kind in ("host", "none")
        ),
        Row("one command in a box", commands, None),
    ]


def _added(times: dict[str, list[float]], kind: str) -> list[float]:
    """Each beside its neighbour without a box."""
    return [boxed - plain for plain, boxed in zip(times["unboxed"], times[kind], strict=True)]


def _run(argv: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(argv, check=True, env={})
    return (time.perf_counter() - began) * 1000
