"""Nobody waits for a hostile crew: a real daemon, boxed agents, and clones damaged by dice.

While the hostile agents are looked at in every way and ended, the person and another agent are
answered, and what they are told is what it was before.
"""

from __future__ import annotations

import base64
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.git.conftest import snapshot
from tests.git.damaged_clones import damage
from tests.git.hostile_clones import SECRET, Target, deep_folders, tree_that_unfolds
from tests.support.ground import Ground

from windlass.box import probes
from windlass.core.errors import WindlassError
from windlass.git import repository

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not probes.usable().host_network, reason="this machine has no box"),
]
STAY = ({"text": "WAITING"}, {"await": "message"})
WORK = {"tool": "Bash", "input": {"command": "echo work > work.txt"}}
FLOOD = b"\n" * 300_000 + b"{}\n" * 2000
_PAUSE = 0.05
PARTS = ("committed", "uncommitted")


class Innocent:
    """An agent and the person, who ask for ordinary things again and again."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        ground.new("ann", WORK, *STAY)
        ground.wait("ann", states="waiting")
        self.times: list[tuple[float, str]] = []
        self._asked: dict[str, Callable[[], Any]] = {
            "the person's list": ground.agents,
            "the person's diff of ann": lambda: ground.ask("diff", agent="ann"),
            "ann's list": lambda: ground.ask_as("ann", "agents"),
            "ann's status": lambda: ground.ask_as("ann", "status"),
            "ann's diff": lambda: ground.ask_as("ann", "diff"),
        }

    def go_round(self) -> None:
        """Asks for each thing once; what ann has done is shown, whatever others do."""
        for name, ask in self._asked.items():
            began = time.monotonic()
            answer = ask()
            self.times.append((time.monotonic() - began, name))
            if "diff" in name:
                assert b"+work" in base64.b64decode(answer["uncommitted"]), name

    def worst(self) -> tuple[float, str]:
        """The longest that an answer took since this was asked last."""
        worst, self.times = max(self.times), []
        return worst

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Goes round and round, at least once; whatever goes wrong is raised at the end."""
        over = threading.Event()

        def ask() -> None:
            while True:
                self.go_round()
                if over.wait(_PAUSE):
                    return

        with ThreadPoolExecutor(1) as pool:
            begun = pool.submit(ask)
            try:
                yield
            finally:
                over.set()
            begun.result()


def crew(ground: Ground, kind: str, seeds: range) -> dict[str, Path]:
    """Starts agents, each with some work; returns their workspaces by their names."""
    names = [f"{kind}{seed}" for seed in seeds]
    with ThreadPoolExecutor(4) as pool:
        workspaces = list(pool.map(lambda name: ground.new(name, WORK, *STAY), names))
    ground.wait(*names, states="waiting")
    return dict(zip(names, workspaces, strict=True))


def rats(ground: Ground, seeds: range) -> list[str]:
    """Starts hostile agents, and has each do what its seed says."""
    made = crew(ground, "rat", seeds)
    repo = repository.discover(str(ground.folder / "repo"))
    for seed, (name, workspace) in zip(seeds, made.items(), strict=True):
        dice = random.Random(seed)  # noqa: S311 - to be the same again
        target = Target(repo, workspace, ground.folder / f"outside-{name}")
        if dice.random() < 0.5:
            dice.choice((deep_folders, tree_that_unfolds))(target)
        damage(target, dice)
        _flood(Path(ground.ask("info", agent=name)["folder"]))
    return list(made)


def _flood(folder: Path) -> None:
    """Writes much that says nothing into what tells of an agent."""
    for path in (*folder.glob("sessions/*/events.jsonl"), *folder.glob("config/**/*.jsonl")):
        with path.open("ab") as file:
            file.write(FLOOD)


def look_at(ground: Ground, name: str) -> bytes:
    """Asks for everything about a hostile agent; much of it may be refused."""
    said = b""
    for verb, more in (
        ("status", {}), ("diff", {}), ("diff", {"stat": True}), ("merge-check", {"into": "main"}),
        ("look", {}), ("why", {}), ("info", {}),
    ):  # fmt: skip
        with suppress(WindlassError):
            answer = ground.ask(verb, agent=name, **more)
            said += repr(answer).encode()
            if verb == "diff":
                said += b"".join(base64.b64decode(answer[part]) for part in PARTS)
    return said


def look_and_end(ground: Ground, innocent: Innocent, names: list[str]) -> None:
    """Looks at agents in every way and ends them, while others ask; their work is kept."""
    with innocent.asking(), ThreadPoolExecutor(4) as pool:
        for said in pool.map(lambda name: look_at(ground, name), names):
            assert SECRET.encode() not in said
        kept = list(pool.map(lambda name: end(ground, name), names))
    assert [agent["id"] for agent in ground.agents()] == ["ann"]
    for ref in kept:
        assert ground.git("cat-file", "blob", f"{ref}:files/work.txt") == "work\n"


def besiege(ground: Ground, innocent: Innocent, seeds: range) -> None:
    """Does so with hostile agents: nothing of the person's changes by it."""
    names = rats(ground, seeds)
    before = _persons(ground)
    look_and_end(ground, innocent, names)
    assert _persons(ground) == before


def _persons(ground: Ground) -> object:
    places = [ground.folder / "repo", *sorted(ground.folder.glob("outside-*"))]
    return ground.git("rev-parse", "main"), [snapshot(place) for place in places]


def end(ground: Ground, name: str) -> str:
    """Ends an agent; returns where its work is kept."""
    (ended,) = ground.ask("end", agents=[name], force=True)["ended"]
    return str(ended["trash"]["ref"])


def test_others_are_answered_while_hostile_agents_are_looked_at_and_ended(ground: Ground) -> None:
    innocent = Innocent(ground)
    besiege(ground, innocent, range(4))


@pytest.mark.soak
@pytest.mark.parametrize("start", range(4, 44, 8))
def test_others_are_answered_within_a_second_whatever_hostile_agents_do(
    ground: Ground, start: int
) -> None:
    """On a busy machine: within a few times what they take while the same is done to others."""
    innocent, seeds = Innocent(ground), range(start, start + 8)
    look_and_end(ground, innocent, list(crew(ground, "bob", seeds)))
    usual, _ = innocent.worst()
    besiege(ground, innocent, seeds)
    worst, what = innocent.worst()
    assert worst < max(1.0, 3 * usual), f"{what} took {worst:.2f} s, and {usual:.2f} s usually"
