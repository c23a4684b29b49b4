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
_AGAIN = 0.2
"""Seconds until somebody is looked for again where nobody was there to be killed.

After a daemon it takes longer: what three of them die in is set aside, and waits for the person.
"""


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
        if self._dice.random() < 0.4:
            return self._dice.uniform(4.0, 7.0) if self._kill_daemon() else _AGAIN
        return self._dice.uniform(1.0, 3.0) if self._kill_session() else _AGAIN

    def _kill_daemon(self) -> bool:
        daemon = self._ground.living_daemon()
        if daemon is None:
            return False
        self.killed.append("the daemon")
        end([daemon])
        return True

    def _kill_session(self) -> bool:
        """Kills the program of some agent that has one."""
        names = sorted(agent["id"] for agent in self._ground.agents())
        self._dice.shuffle(names)
        for name in names:
            with suppress(psutil.NoSuchProcess):  # it ended a moment ago
                pid = self._ground.ask("info", agent=name)["pid"]
                if pid is not None:
                    psutil.Process(pid).send_signal(signal.SIGKILL)
                    self.killed.append(name)
                    return True
        return False


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
