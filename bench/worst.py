"""How soon the person is answered while a hundred agents each make the worst requests they can.

The agents are rows and sockets: no session is needed to ask. Who asks for them is a program of its
own, so that it takes nothing from the one that measures but the machine.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from bench import worst_callers
from bench.crew import command
from bench.table import Row, timed
from tests.support.agents import an_agent
from tests.support.ground import Ground

from windlass.core.crew import Agent
from windlass.core.ids import RepoId
from windlass.daemon.kernel.clock import SystemClock
from windlass.store import rows
from windlass.store.store import Store, Writing

AGENTS = 100


def measure(ground: Ground) -> list[Row]:
    """Measures with and without them; the agents are gone afterwards."""
    ground.wl("repo", "add").ok()
    _enlist(ground)
    quiet = timed(command(ground, "list"), runs=10)
    with _busy(ground):
        rows = [
            Row("wl list, 100 agents at their worst", timed(command(ground, "list"), runs=20), 500),
            Row("its answer alone, over the socket", timed(ground.agents, runs=20), 500),
        ]
    ground.wl("nuke", "--force", "-q", timeout=300).ok()
    return [Row("wl list, 100 agents that ask nothing", quiet, 150), *rows]


def _enlist(ground: Ground) -> None:
    """Adds agents without a session; the next daemon opens their sockets."""
    (repo,) = (one for one in ground.ask("repos") if one["root"] == str(ground.folder / "repo"))
    ground.wl("daemon", "stop").ok()
    store = Store(ground.state / "windlass.db", clock=SystemClock())
    store.open()
    for number in range(AGENTS):
        ground.git("branch", f"agent/w{number}")
        agent = _agent(ground, RepoId(repo["id"]), number)
        store.write(lambda writing, agent=agent: _add(writing, agent))  # type: ignore[misc]
    store.close()
    ground.agents()


def _agent(ground: Ground, repo: RepoId, number: int) -> Agent:
    head = ground.git("rev-parse", "HEAD").strip()
    workspace = str(ground.folder / f"nowhere{number}")
    more = {"branch": f"agent/w{number}", "base": head, "workspace": workspace, "session": 0}
    return an_agent(f"{number:08x}aaaa", id=f"w{number}", repo=repo, **more)


def _add(writing: Writing, agent: Agent) -> None:
    rows.add_agent(writing, agent)


@contextmanager
def _busy(ground: Ground) -> Iterator[None]:
    """Has all agents ask, from before the block until after it."""
    (sockets,) = ground.runtime.glob("windlass/*")
    argv = [sys.executable, worst_callers.__file__, str(sockets), str(ground.folder / "repo")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as callers:
        try:
            if callers.stdout is None or callers.stdout.readline() != b"busy\n":
                raise AssertionError("nobody asks")
            yield
        finally:
            if callers.stdin is not None:
                callers.stdin.close()
