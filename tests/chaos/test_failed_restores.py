"""`wl undo` on a disk that is full sooner or later: all of the agent is back, or nothing of it.

How much room there is, is drawn from a seed: with each amount another stage is the one that fails,
from the first row to the last file. What has failed is taken back, and succeeds once there is room;
what could not even be recorded goes on by itself then.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.support.ground import Done, Ground, until
from tests.support.small_disk import ONLY_ROOT, SmallDisk, mounted

pytestmark = [pytest.mark.slow, ONLY_ROOT]

STAY = {"text": "WAITING"}
MOST_ROOM = 3 << 20
"""Bytes: more than a restoration needs, so that some of them go well."""


class Place:
    """A ground that lies on a small disk, repository and all, and an ended agent."""

    def __init__(self, disk: SmallDisk, isolation: str) -> None:
        self.disk = disk
        self.ground = Ground(disk.folder)
        self.ground.repository()
        if isolation == "hooks":
            self.ground.unbox()
        self.ground.env["WINDLASS_CLOCK_SCALE"] = "10"
        self.work = {f"d{n}/file{n}.bin": os.urandom(120_000) for n in range(8)}
        self.workspace = self.ground.new("a1", STAY)
        self.ground.wait("a1", states="waiting")
        for name, content in self.work.items():
            path = self.workspace / name
            path.parent.mkdir()
            path.write_bytes(content)
        self.ground.git("add", "d0", "d1", cwd=self.workspace)
        self.ground.git("commit", "-qm", "some of it", cwd=self.workspace)
        self.ground.git("add", "d2", "d3", cwd=self.workspace)
        self.end()

    def end(self) -> None:
        """Ends the agent, of which nothing is left then but in the trash."""
        self.ground.wl("kill", "a1", "--force").ok()
        assert self.leftovers() == []

    def leftovers(self) -> list[str]:
        """What there is of agents."""
        ground = self.ground
        branches = ground.git("branch", "--format=%(refname:short)").split()
        return [
            *(agent["id"] for agent in ground.agents()),
            *(branch for branch in branches if branch != "main"),
            *ground.git("worktree", "list").splitlines()[1:],
            *map(str, ground.state.glob("workspaces/*/*")),
            *map(str, ground.state.glob("agents/*")),
        ]

    def is_settled(self) -> bool:
        """Whether nothing is under way any more."""
        with closing(sqlite3.connect(self.ground.state / "windlass.db", timeout=30)) as connection:
            return not connection.execute("SELECT 1 FROM intents WHERE status = 'open'").fetchall()

    def undo(self, room: int) -> Done:
        """Undoes the ending with so much room on the disk."""
        self.disk.fill(but=room)
        try:
            done = self.ground.wl("undo")
        finally:
            self.disk.make_room()
        assert "Traceback" not in done.err
        assert "defect" not in done.err
        return done

    def judge(self) -> None:
        """The agent is back, byte for byte."""
        (agent,) = self.ground.agents()
        assert agent["id"] == "a1"
        for name, content in self.work.items():
            assert (self.workspace / name).read_bytes() == content, name
        assert self.ground.git("log", "--format=%s", "agent/a1") == "some of it\nfirst\n"


@pytest.fixture(params=["hooks", pytest.param("box", marks=pytest.mark.soak)])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="wl-"))
    try:
        with mounted(folder, megabytes=24) as disk:
            made = Place(disk, request.param)
            try:
                yield made
            finally:
                made.ground.leave()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def fail_often(place: Place, seed: int, times: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - what can be repeated
    for _ in range(times):
        room = int(MOST_ROOM * dice.random() ** 2)
        failed = place.undo(room).code != 0
        until(place.is_settled, what=f"the end of an undo with {room} bytes of room")
        if failed and "a1" not in place.leftovers():  # else it went on by itself, as was said
            assert place.leftovers() == [], room
            place.ground.wl("undo").ok()
        place.judge()
        place.end()


@pytest.mark.parametrize("seed", [1, 2])
def test_an_undo_that_fails_on_a_full_disk_leaves_nothing_behind(place: Place, seed: int) -> None:
    fail_often(place, seed, times=3)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(300, 310))
def test_undos_that_fail_on_a_full_disk_leave_nothing_behind(place: Place, seed: int) -> None:
    fail_often(place, seed, times=15)
