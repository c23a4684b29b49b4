"""A store is killed with -9 at every point of its way from an older schema to today's.

The next one that opens it finds everything that was in it, and a copy of it as it was before.
"""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO

import pytest
from tests.support import old_stores
from tests.support.clocks import Stopped
from tests.support.ground import Ground

from windlass.core.schema import SCHEMA
from windlass.store import backups
from windlass.store.store import Store

pytestmark = pytest.mark.slow

OPENING = Path(__file__).with_name("opening.py")
KILLED = -signal.SIGKILL
EVERY = (0, *old_stores.SCHEMAS)


class Victims:
    """Processes that open a store and may be killed at a point on the way."""

    def __init__(self, folder: Path, asked: IO[str], told: IO[str]) -> None:
        self._points = folder / "failpoints"
        self._points.mkdir()
        self._asked = asked
        self._told = told

    def open(self, path: Path, point: str) -> int:
        """Opens a store, to be killed at that point; says how the process ended."""
        armed = self._points / point
        armed.touch()
        print(json.dumps({"path": str(path), "points": str(self._points)}), file=self._asked)
        self._asked.flush()
        code = int(self._told.readline())
        assert not armed.exists(), f"nobody came to {point}"
        return code


@pytest.fixture(scope="module")
def victims(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victims]:
    with subprocess.Popen(
        [sys.executable, "-P", str(OPENING)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield Victims(tmp_path_factory.mktemp("victims"), process.stdin, process.stdout)


def opened(path: Path) -> list[str]:
    """Opens a store and closes it; lists the points that it came through."""
    reached: list[str] = []
    store = Store(path, clock=Stopped(), reached=reached.append)
    store.open()
    store.close()
    return reached


def copies(path: Path) -> list[Path]:
    return sorted(backups.folder_of(path).glob("*"))


@pytest.mark.parametrize("schema", EVERY)
def test_a_store_killed_at_any_point_of_its_next_migration_opens_again_whole(
    tmp_path: Path, victims: Victims, schema: int
) -> None:
    """Each later one begins where its own schema's begins."""
    kills(tmp_path, victims, schema, later=schema == 0)


@pytest.mark.soak
@pytest.mark.parametrize("schema", EVERY)
def test_a_store_killed_at_any_point_of_all_its_migrations_opens_again_whole(
    tmp_path: Path, victims: Victims, schema: int
) -> None:
    kills(tmp_path, victims, schema, later=True)


def kills(tmp_path: Path, victims: Victims, schema: int, *, later: bool) -> None:
    """Kills a store at points of its way, `later` ones too, and opens what is left."""
    reference = tmp_path / "reference.db"
    old_stores.make(reference, schema)
    before = old_stores.contents(reference) if schema else {}
    points = list(dict.fromkeys(opened(reference)))
    assert len(points) > 3 * (SCHEMA - schema)
    own = f"migration.{schema + 1:03}."
    if not later:
        points = [each for each in points if each.startswith(own) or "migration." not in each]
    meant = old_stores.statements(reference)
    for number, point in enumerate(points):
        path = tmp_path / str(number) / "windlass.db"
        path.parent.mkdir()
        old_stores.make(path, schema)
        assert victims.open(path, point) == KILLED, point
        opened(path)
        assert old_stores.schema_of(path) == SCHEMA, point
        assert old_stores.statements(path) == meant, point
        assert old_stores.still_held(path, before) == before, point
        for copy in copies(path):
            assert copy.suffix == ".db", f"{point}: {copy} is left"
            assert old_stores.still_held(copy, before) == before, point
        assert bool(copies(path)) == bool(before), point


@pytest.mark.parametrize("schema", old_stores.SCHEMAS)
def test_a_store_killed_inside_of_a_migration_is_as_it_was_before_that_one(
    tmp_path: Path, victims: Victims, schema: int
) -> None:
    path = tmp_path / "windlass.db"
    old_stores.make(path, schema)
    was = old_stores.contents(path)
    assert victims.open(path, f"migration.{schema + 1:03}.number") == KILLED
    assert old_stores.schema_of(path) == schema
    assert old_stores.contents(path) == was


def test_a_copy_that_was_killed_halfway_is_no_copy(tmp_path: Path, victims: Victims) -> None:
    path = tmp_path / "windlass.db"
    old_stores.make(path, 4)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE events SET data = ?", [json.dumps("x" * 1_000_000)])
    before = old_stores.contents(path)
    assert victims.open(path, "backup.copying") == KILLED
    left = copies(path)
    assert left
    assert all(".partial" in one.name for one in left)
    assert sum(one.stat().st_size for one in left) < path.stat().st_size
    opened(path)
    (copy,) = copies(path)
    assert old_stores.contents(copy) == before


def test_a_daemon_killed_in_a_migration_is_followed_by_one_that_answers(ground: Ground) -> None:
    ground.wl("init").ok()
    ground.wl("daemon", "stop").ok()
    path = ground.state / "windlass.db"
    (known,) = old_stores.contents(path)["repos"][1]
    for file in ground.state.glob("windlass.db*"):
        file.unlink()
    old_stores.make(path, 4)
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in old_stores.contents(path):
            if table != "events":
                connection.execute(f"DELETE FROM {table}")  # noqa: S608 - names of our own
        connection.execute("INSERT INTO repos VALUES (?, ?, ?, ?)", known)
    points = ground.folder / "failpoints"
    points.mkdir()
    (points / "migration.005.number").touch()
    ground.env["WINDLASS_FAILPOINTS"] = str(points)
    ground.wl("list")
    assert not list(points.iterdir()), "the daemon never came to the point"
    assert ground.wl("list", "--json").ok().json() == []
    assert old_stores.schema_of(path) == SCHEMA
    assert {old_stores.schema_of(copy) for copy in copies(path)} == {4}
