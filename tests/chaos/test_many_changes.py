"""A crew whose work lands by itself: good, bad, bad only together and in conflict, in any order.

The good lands, the rest comes back with what is wrong with it, and every commit of main's own line
is known to be green; with the daemon killed with -9 at random it is the same.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.support.ground import Ground, until

pytestmark = pytest.mark.slow
DONE = {"text": "It is there.\n\nI HAVE COMPLETED THE GOAL"}
ENDED = ("landed", "rejected", "conflict", "held")
CODE = {
    "test_parts.py": """import os
import unittest


class Parts(unittest.TestCase):
    def test_nothing_is_bad(self):
        self.assertEqual([name for name in os.listdir() if name.startswith("bad")], [])

    def test_no_two_sides_are_together(self):
        for number in range(9):
            names = {f"left{number}.txt", f"right{number}.txt"}
            self.assertFalse(names <= set(os.listdir()))
""",
    ".windlass/config.toml": '[gate]\ncommands = ["python3 -m unittest -v"]\n',
}


class Crew:
    """The agents, and what each writes."""

    def __init__(self, ground: Ground, *, good: int, bad: int, pairs: int, clashes: int) -> None:
        self.ground = ground
        self.good = [f"good{number}" for number in range(good)]
        self.bad = [f"bad{number}" for number in range(bad)]
        self.pairs = [(f"left{number}", f"right{number}") for number in range(pairs)]
        self.clashes = [f"clash{number}" for number in range(clashes)]
        repo = ground.folder / "repo"
        (repo / ".windlass").mkdir()
        for name, text in CODE.items():
            (repo / name).write_text(text)
        ground.git("add", "-A")
        ground.git("commit", "-q", "-m", "code")
        ground.wl("config", "set", "landing.review", "none", "--global").ok()
        ground.wl("config", "set", "max_agents", "40", "--global").ok()
        self.base = ground.git("rev-parse", "main").strip()

    @property
    def names(self) -> list[str]:
        """Everybody."""
        return [
            *self.good,
            *self.bad,
            *(side for pair in self.pairs for side in pair),
            *self.clashes,
        ]

    def begin(self, order: list[str]) -> None:
        """Starts everybody, whose work is proposed once it is done."""
        for name in order:
            file = "same.txt" if name in self.clashes else f"{name}.txt"
            write = {"tool": "Write", "input": {"file_path": file, "content": f"{name}\n"}}
            line = f"git add -A && git commit -q -m '{name}'"
            commit = {"tool": "Bash", "input": {"command": line}}
            # Who begins after another has landed begins with its file, and is in no conflict.
            first = [{"await": "message"}] if name in self.clashes else []
            self.ground.new(name, *first, write, commit, DONE, flags=("--print", "--land"))
        for name in self.clashes:
            self.ground.wl("send", name, "go").ok()

    def shown(self, name: str) -> dict[str, Any]:
        """The change of an agent."""
        found: dict[str, Any] = self.ground.ask("change", change=f"agent/{name}")
        return found

    def states(self) -> dict[str, str]:
        """Where the change of each is."""
        return {name: self.shown(name)["state"] for name in self.names}

    def ended(self) -> int:
        """How many have come to where they stay."""
        return sum(state in ENDED for state in self.states().values())

    def judge(self) -> None:
        """What became of everybody is what was to become of them."""
        states = self.states()
        assert {name: states[name] for name in self.good} == dict.fromkeys(self.good, "landed")
        for name in self.bad:
            assert states[name] != "landed"
            assert "test_nothing_is_bad" in str(self.shown(name)["ticket"]), self.shown(name)
        for pair in self.pairs:
            assert sorted(states[side] == "landed" for side in pair) == [False, True]
            (back,) = (side for side in pair if states[side] != "landed")
            assert "test_no_two_sides" in str(self.shown(back)["ticket"]), self.shown(back)
        landed = [name for name in self.clashes if states[name] == "landed"]
        assert len(landed) == 1
        for name in set(self.clashes) - set(landed):
            assert self.shown(name)["ticket"]["paths"] == ["same.txt"]
        line = self.ground.git("rev-list", "--first-parent", f"{self.base}..main").split()
        assert line
        for commit in line:
            assert self.ground.wl("gate", "run", commit, "--json").ok().json()["cached"] is True
        assert self.ground.git("status", "--porcelain") == ""


def ride(ground: Ground, crew: Crew, seed: int, *, kills: bool) -> None:
    """Has everybody begin, and waits until everything has come to its end."""
    dice = random.Random(seed)  # noqa: S311 - to be the same again
    order = crew.names
    dice.shuffle(order)
    crew.begin(order)
    while (before := crew.ended()) < len(order):
        if kills and dice.random() < 0.7 and ground.daemon_pid() is not None:
            ground.kill_daemon()
        until(lambda: crew.ended() > before, what=f"more than {before} of {len(order)}")
    crew.judge()


def test_of_a_small_crew_the_good_land_while_the_daemon_is_killed(ground: Ground) -> None:
    ride(ground, Crew(ground, good=2, bad=1, pairs=1, clashes=2), 1, kills=True)


@pytest.mark.soak
@pytest.mark.parametrize("kills", [False, True])
def test_of_thirty_the_good_land_and_the_others_come_back(ground: Ground, *, kills: bool) -> None:
    ride(ground, Crew(ground, good=19, bad=3, pairs=2, clashes=4), 30, kills=kills)
