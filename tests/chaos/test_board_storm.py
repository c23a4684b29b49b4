"""The story of twelve while the daemon and sessions are killed with -9 every few seconds.

It ends like the one in which nothing is killed: no task is begun twice, no visit ends twice, and
nothing is lost. Dice say who dies and when, and a seed says how they fall.
"""

from __future__ import annotations

import random
import signal
from contextlib import suppress

import psutil
import pytest
from tests.support.ground import Ground, end
from tests.support.story import PATIENCE, Story

pytestmark = pytest.mark.slow


class Storm:
    """Kills somebody now and then, so many times at most."""

    def __init__(self, ground: Ground, seed: int, *, most: int) -> None:
        self._ground = ground
        self._most = most
        self._dice = random.Random(seed)  # noqa: S311 - to be the same again
        self.killed: list[str] = []

    def strike(self) -> float:
        """Kills the daemon or a session; returns after how many seconds the next one goes."""
        if len(self.killed) >= self._most:
            return PATIENCE
        if self._dice.random() < 0.5:
            self._kill_daemon()
        else:
            self._kill_session()
        return self._dice.uniform(1.5, 5.0)

    def _kill_daemon(self) -> None:
        daemon = self._ground.living_daemon()
        if daemon is not None:
            self.killed.append("the daemon")
            end([daemon])

    def _kill_session(self) -> None:
        """The agent's own program, or with everything that keeps it."""
        names = sorted(agent["id"] for agent in self._ground.agents())
        if not names:
            return
        name = self._dice.choice(names)
        with suppress(psutil.NoSuchProcess):  # it ended a moment ago
            pid = self._ground.ask("info", agent=name)["pid"]
            if pid is not None:
                self.killed.append(name)
                psutil.Process(pid).send_signal(signal.SIGKILL)


def ride(ground: Ground, seed: int, *, most: int) -> None:
    story, storm = Story(ground), Storm(ground, seed, most=most)
    try:
        story.play(meanwhile=storm.strike)
        story.judge()
    except BaseException as error:
        error.add_note(f"seed {seed}: {storm.killed}")
        raise
    assert storm.killed


@pytest.mark.parametrize("seed", [1, 2])
def test_a_board_is_worked_off_in_a_storm(ground: Ground, seed: int) -> None:
    ride(ground, seed, most=4)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 120))
def test_a_board_is_worked_off_in_any_storm(ground: Ground, seed: int) -> None:
    ride(ground, seed, most=1000)
