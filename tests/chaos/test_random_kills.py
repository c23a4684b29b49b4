"""A seeded storm: commands on a crew while the daemon, agents and tmux are killed with -9.

The daemon dies at recorded points between effects, chosen by the seed, so a storm can be repeated.
The promises are the assertions: nothing written is lost, nothing happens twice, nothing stays half
done, and no state lies.
"""

from __future__ import annotations

import hashlib
import random
import signal
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.chaos.test_killed_between_effects import OPERATIONS, arm
from tests.support.ground import Done, Ground, until

pytestmark = pytest.mark.slow

STAY = {"text": "WAITING"}
POINTS = [
    f"{kind}.{step}.{when}"
    for kind, operation in OPERATIONS.items()
    for step in (*(step.name for step in operation.steps), "finish")
    for when in ("before", "after")
]


class Storm:
    """What was done, and what must therefore be there."""

    def __init__(self, ground: Ground, seed: int) -> None:
        self.ground = ground
        self.dice = random.Random(seed)  # noqa: S311 - a storm that can be repeated
        self.script = ground.script("stay", STAY)
        self.written: set[bytes] = set()
        self.born = 0
        self.merged = 0
        ground.wl("init").ok()

    def agents(self) -> list[dict[str, Any]]:
        """Who lives."""
        listed: list[dict[str, Any]] = self.ground.agents()
        return listed

    def step(self) -> None:
        """One thing that a person or bad luck does."""
        agents = self.agents()
        if len(agents) < 2:
            self.new()
            return
        one = self.dice.choice(agents)
        to_one = [self.write, self.write, self.commit, self.end, self.merge, self.pause]
        to_one += [self.resume, self.kill_agent]
        to_all = (self.new, self.undo, self.kill_daemon, self.kill_tmux)
        if self.dice.random() < len(to_one) / (len(to_one) + len(to_all)):
            self.dice.choice(to_one)(one)
        else:
            self.dice.choice(to_all)()

    def wl(self, *args: str) -> Done:
        """A command, under which the daemon may die."""
        for point in (self.ground.folder / "failpoints").glob("*"):
            point.unlink()  # those that were never reached would add up to a daemon that only dies
        if self.dice.random() < 0.5:
            for _ in range(self.dice.randint(1, 3)):
                arm(self.ground, self.dice.choice(POINTS))
        done = self.ground.wl(*args)
        assert done.code in (0, 1, 2, 8), f"{args} ended {done.code}: {done.err}"
        assert "Traceback" not in done.err
        assert "defect" not in done.err, done.err
        return done

    def new(self) -> None:
        """A person starts an agent."""
        self.born += 1
        name = f"n{self.born}"
        self.wl("new", "--driver", "standin", "--script", self.script, "--name", name, "x").ok()

    def write(self, agent: dict[str, Any]) -> None:
        """An agent leaves something in its workspace that it commits, stages, or neither."""
        workspace = Path(agent["workspace"])
        content = f"{len(self.written)} {self.dice.random()}\n".encode()
        name = f"file{len(self.written)}.txt"
        (workspace / name).write_bytes(content)
        self.written.add(content)
        if self.dice.random() < 0.3:
            self.ground.git("add", name, cwd=workspace)

    def commit(self, agent: dict[str, Any]) -> None:
        """An agent commits everything."""
        workspace = Path(agent["workspace"])
        self.ground.git("add", "-A", cwd=workspace)
        self.ground.git("commit", "-qm", "work", "--allow-empty", cwd=workspace)

    def end(self, agent: dict[str, Any]) -> None:
        """A person ends an agent."""
        self.wl("kill", agent["id"], "--force").ok()

    def merge(self, agent: dict[str, Any]) -> None:
        """A person merges an agent, if that can be."""
        if self.wl("merge", agent["id"], "--force").code == 0:
            self.merged += 1

    def undo(self) -> None:
        """A person takes back the last ending, if there is one."""
        self.wl("undo")

    def pause(self, agent: dict[str, Any]) -> None:
        """A person pauses an agent."""
        self.wl("pause", agent["id"])

    def resume(self, agent: dict[str, Any]) -> None:
        """A person resumes an agent."""
        self.wl("resume", agent["id"])

    def kill_agent(self, agent: dict[str, Any]) -> None:
        """An agent's process dies."""
        pid = self.ground.wl("info", agent["id"], "--json").ok().json()["pid"]
        if pid is not None:
            with suppress(psutil.NoSuchProcess):  # it ended by itself a moment ago
                psutil.Process(pid).send_signal(signal.SIGKILL)

    def kill_daemon(self) -> None:
        """The daemon dies."""
        if self.ground.daemon_pid() is not None:
            self.ground.kill_daemon()

    def kill_tmux(self) -> None:
        """The tmux server dies, with every session."""
        self.ground.tmux("kill-server")

    def judge(self) -> None:
        """The promises."""
        agents = self.agents()
        self._nothing_is_lost(agents)
        self._nothing_is_half_done()
        self._nothing_happened_twice()
        # What was killed a moment ago is noticed by an event, which takes a moment too.
        until(self._no_state_lies, within=30.0, what="every state coming true")

    def _nothing_is_lost(self, agents: list[dict[str, Any]]) -> None:
        listed = self.ground.git("rev-list", "--objects", "--all")
        kept = {line.split(" ", 1)[0] for line in listed.splitlines()}
        loose = {
            path.read_bytes()
            for agent in agents
            for path in Path(agent["workspace"]).glob("file*.txt")
        }
        for content in self.written:
            blob = b"blob %d\0" % len(content) + content
            oid = hashlib.sha1(blob, usedforsecurity=False).hexdigest()
            assert oid in kept or content in loose, f"{content!r} is lost"

    def _nothing_is_half_done(self) -> None:
        connection = sqlite3.connect(self.ground.state / "windlass.db")
        left = connection.execute("SELECT kind, step FROM intents WHERE status = 'open'").fetchall()
        connection.close()
        assert left == []
        assert self.ground.git("status", "--porcelain", "-uno") == ""
        assert not list((self.ground.folder / "repo/.git").glob("*.lock"))

    def _nothing_happened_twice(self) -> None:
        subjects = self.ground.git("log", "--first-parent", "--format=%s", "main").splitlines()
        assert sum(line.startswith("Merge agent") for line in subjects) == self.merged
        created = [e["data"]["id"] for e in self.ground.events() if e["kind"] == "agent.created"]
        assert len(created) == len(set(created)) == self.born

    def _no_state_lies(self) -> bool:
        listed = self.ground.tmux("list-sessions", "-F", "#{session_name}").stdout.split()
        alive = {name.split("-", 2)[2] for name in listed}
        return all(
            (agent["state"] in ("stopped", "paused")) == (agent["id"] not in alive)
            for agent in self.agents()
        )


def play(ground: Ground, seed: int, steps: int) -> None:
    storm = Storm(ground, seed)
    for _ in range(steps):
        storm.step()
    storm.judge()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_short_storm_breaks_no_promise(ground: Ground, seed: int) -> None:
    play(ground, seed, steps=18)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 120))
def test_a_long_storm_breaks_no_promise(ground: Ground, seed: int) -> None:
    play(ground, seed, steps=60)
