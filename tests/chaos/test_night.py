"""A night in which nobody is there: usage limits, a daemon that is killed, a disk that is full.

The clock is scaled, so that a night takes a minute. When, and for how long, is drawn from a seed.
From the first agent's start until all have ended no command is run: what brings the daemon back is
a session's holder, and what sets an agent going after a limit is the daemon.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
import sqlite3
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from tests.support.ground import Ground, end, until
from tests.support.small_disk import SmallDisk, mounted

pytestmark = pytest.mark.slow

SCALE = 60.0
"""One second of the test is a minute of the night."""
STEADY = 1.2
"""Seconds that a daemon answers at least before it is killed. One that dies sooner is brought back
ever later, as if it died of its start; and who asks it about a call waits for ten seconds, whatever
the scale, in which it may not die twice."""
WORK = (
    "until git log -1 --format=%s | grep -qx {part};"
    " do echo {part} > {part}.txt && git add {part}.txt && git commit -qm {part}; sleep 0.1; done"
)
"""An agent that tries again while there is no room to write."""
LIMITS = (
    "Claude AI usage limit reached|{epoch:.0f}",
    "You've hit your session limit · resets at {iso}",
)


class Night(NamedTuple):
    """How many of what, and when: seconds since its begin."""

    agents: int
    resets: tuple[float, ...]
    kills: int
    lasts: float


SHORT = Night(agents=3, resets=(7.0, 18.0), kills=3, lasts=8.0)
LONG = Night(agents=8, resets=(15.0, 40.0, 70.0), kills=10, lasts=75.0)


class Sleeper:
    """The machine on which a crew works while the person sleeps, and what befalls it."""

    def __init__(self, ground: Ground, night: Night, disk: SmallDisk | None, seed: int) -> None:
        self.ground = ground
        self.night = night
        self.dice = random.Random(seed)  # noqa: S311 - a night that can be repeated
        self.disk = disk
        self.killed = 0

    @property
    def names(self) -> list[str]:
        """Who works."""
        return [f"a{number}" for number in range(self.night.agents)]

    @property
    def parts(self) -> list[str]:
        """What each agent commits: something before each limit, and something after the last."""
        return [f"part{number}" for number in range(len(self.night.resets) + 1)]

    def begin(self) -> None:
        """The person starts a crew, and goes to bed."""
        self.began = time.time()
        for name in self.names:
            # The first may be at its limit before the last is there.
            self.ground.new(name, *self._script(), flags=["--anyway"])

    def _script(self) -> Iterator[dict[str, Any]]:
        for part, reset in zip(self.parts, self.night.resets, strict=False):
            yield self._work(part)
            yield {"error": {"status": 429, "message": self._limit(self.began + reset)}}
        yield self._work(self.parts[-1])
        yield {"text": "I HAVE COMPLETED THE GOAL"}

    def _work(self, part: str) -> dict[str, Any]:
        return {"tool": "Bash", "input": {"command": WORK.format(part=part)}}

    def _limit(self, moment: float) -> str:
        iso = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))
        return self.dice.choice(LIMITS).format(epoch=moment, iso=iso)

    def pass_by(self) -> None:
        """Has everything befall it, in the order that the dice say."""
        lasts, before = self.night.lasts, 0.0
        fills = self.dice.uniform(0.1, 0.6) * lasts
        befalls = [(self.dice.uniform(0.0, lasts), self.kill) for _ in range(self.night.kills)]
        if self.disk is not None:
            befalls += [(fills, self.disk.fill), (fills + 0.25 * lasts, self.disk.make_room)]
        for moment, befall in sorted(befalls, key=lambda each: each[0]):
            time.sleep(moment - before)
            before = moment
            befall()

    def kill(self) -> None:
        """The daemon dies, which has answered for a while."""
        until(self._answers, what="the daemon's return")
        answered = self.ground.living_daemon()
        time.sleep(STEADY)
        if answered is not None:
            end([answered])
            self.killed += 1

    def _answers(self) -> bool:
        """Whether there is a daemon that takes requests; asks it nothing."""
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                (path,) = self.ground.runtime.glob("windlass/*/person.sock")
                connection.connect(str(path))
        except (OSError, ValueError):
            return False
        return True

    def are_done(self) -> bool:
        """Whether all agents say so, and nothing is under way: no daemon is asked for it."""
        under_way = self.query("SELECT * FROM intents WHERE status NOT IN ('done', 'failed')")
        return not under_way and set(self.query("SELECT state FROM agents")) == {("complete",)}

    def query(self, text: str, *values: str) -> list[tuple[Any, ...]]:
        """Reads the database, as it is on the disk."""
        path = f"file:{self.ground.state}/windlass.db?mode=ro"
        with contextlib.closing(sqlite3.connect(path, uri=True, timeout=30)) as connection:
            return connection.execute(text, values).fetchall()

    def judge(self) -> None:
        """The promises."""
        assert self.killed == self.night.kills
        for name in self.names:
            said = self.ground.git("log", "--reverse", "--format=%s", f"agent/{name}")
            assert said.split() == ["first", *self.parts], name
            self._judge_turns(name)
        denied = self.query("SELECT data FROM events WHERE kind = 'hook.PolicyDecision'")
        assert denied == []

    def _judge_turns(self, name: str) -> None:
        """Each limit was waited for, and its end told once."""
        told = self.query(
            "SELECT m.created_at, m.state FROM messages m JOIN agents a ON a.uid = m.recipient"
            " WHERE a.id = ? ORDER BY m.created_at",
            name,
        )
        assert len(told) == len(self.night.resets), f"{name} was told {told}"
        for (at, state), reset in zip(told, self.night.resets, strict=True):
            assert at >= self.began + reset - 1, f"{name} went on before its limit was over"
            assert state in ("delivered", "read", "acked")
        prompts = [e for e in self.ground.events(name) if e["kind"] == "hook.UserPromptSubmit"]
        assert len(prompts) <= 1 + len(told)


@contextlib.contextmanager
def on_a_small_disk(ground: Ground) -> Iterator[SmallDisk | None]:
    """Has the state folder lie on a disk of its own, where we may mount one."""
    if os.geteuid() != 0:
        yield None
        return
    config = (ground.state / "config.toml").read_bytes()
    with mounted(ground.state, megabytes=32) as disk:
        (ground.state / "config.toml").write_bytes(config)
        try:
            yield disk
        finally:
            disk.make_room()
            ground.leave()


def sleep_well(ground: Ground, night: Night, seed: int) -> None:
    ground.warm = False  # `wl` starts the daemon itself, so that there is a start to be repeated
    ground.env["WINDLASS_CLOCK_SCALE"] = f"{SCALE:g}"
    with on_a_small_disk(ground) as disk:
        sleeper = Sleeper(ground, night, disk, seed)
        sleeper.begin()
        sleeper.pass_by()
        until(sleeper.are_done, within=120, what="the end of the night's work")
        sleeper.judge()


def test_a_short_night_ends_with_everybodys_work_done(ground: Ground) -> None:
    sleep_well(ground, SHORT, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(200, 206))
def test_a_long_night_ends_with_everybodys_work_done(ground: Ground, seed: int) -> None:
    sleep_well(ground, LONG, seed=seed)
