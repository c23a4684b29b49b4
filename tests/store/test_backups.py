"""Before a store is changed for a newer Windlass it is copied, or it is not changed."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.support import old_stores
from tests.support.clocks import Stopped

from windlass.core.errors import Unavailable
from windlass.core.schema import SCHEMA
from windlass.store import backups
from windlass.store.store import Store

NOW = 1_790_000_000.0
TIME = "20260921T141320Z"
"""The same, as the names of copies say it."""


def migrate(path: Path, now: float = NOW) -> None:
    store = Store(path, clock=Stopped(now))
    store.open()
    store.close()


def names(path: Path) -> list[str]:
    folder = backups.folder_of(path)
    return sorted(copy.name for copy in folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("schema", old_stores.SCHEMAS)
def test_a_store_is_copied_once_as_it_was_before_its_first_migration(
    path: Path, schema: int
) -> None:
    old_stores.make(path, schema)
    before = old_stores.contents(path)
    migrate(path)
    assert names(path) == [f"windlass-{schema}-{TIME}.db"]
    copy = backups.folder_of(path) / names(path)[0]
    assert old_stores.schema_of(copy) == schema
    assert old_stores.contents(copy) == before
    assert copy.read_bytes()[18:20] == b"\1\1", "it would need files beside it to be opened"


def test_a_copy_and_its_folder_are_their_owners_alone(path: Path) -> None:
    old_stores.make(path, 4)
    migrate(path)
    folder = backups.folder_of(path)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [copy.stat().st_mode & 0o777 for copy in folder.iterdir()] == [0o600]


def test_what_was_not_yet_moved_into_the_file_is_copied_too(path: Path) -> None:
    old_stores.make(path, 4)
    with closing(sqlite3.connect(path)) as held, closing(sqlite3.connect(path)) as writer:
        held.execute("PRAGMA journal_mode=WAL")
        writer.execute("UPDATE repos SET root = '/elsewhere'")
        writer.commit()
        assert path.with_name("windlass.db-wal").stat().st_size > 0
        migrate(path)
    copy = backups.folder_of(path) / names(path)[0]
    columns, repos = old_stores.contents(copy)["repos"]
    assert {row[columns.index("root")] for row in repos} == {"/elsewhere"}


def test_a_store_without_a_row_is_not_copied(path: Path) -> None:
    old_stores.make(path, 4)
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in old_stores.contents(path):
            connection.execute(f"DELETE FROM {table}")  # noqa: S608 - names of our own
    migrate(path)
    assert old_stores.schema_of(path) == SCHEMA
    assert names(path) == []


def test_the_newest_five_copies_are_kept(path: Path) -> None:
    folder = backups.folder_of(path)
    folder.mkdir()
    older = [f"windlass-{4 - day % 3}-2026010{day}T000000Z.db" for day in range(1, 8)]
    for name in (*older, "notes.txt"):
        (folder / name).touch()
    old_stores.make(path, 4)
    migrate(path)
    assert names(path) == sorted([*older[3:], "notes.txt", f"windlass-4-{TIME}.db"])


def test_the_copy_that_was_just_made_is_kept_though_the_clock_was_set_back(path: Path) -> None:
    folder = backups.folder_of(path)
    folder.mkdir()
    later = [f"windlass-4-2030010{day}T000000Z.db" for day in range(1, 8)]
    for name in later:
        (folder / name).touch()
    old_stores.make(path, 4)
    migrate(path)
    assert names(path) == sorted([*later[3:], f"windlass-4-{TIME}.db"])


def test_what_is_left_of_a_copy_that_was_not_finished_is_cleared_away(path: Path) -> None:
    migrate(path)
    folder = backups.folder_of(path)
    folder.mkdir()
    for end in ("", "-journal", "-wal", "-shm"):
        (folder / f"windlass-4-{TIME}.db.partial{end}").write_bytes(b"half")
    migrate(path)
    assert names(path) == []


def test_a_store_that_cannot_be_copied_is_refused_and_left_as_it_was(path: Path) -> None:
    old_stores.make(path, 4)
    before = old_stores.contents(path)
    backups.folder_of(path).write_text("in the way")
    store = Store(path, clock=Stopped())
    with pytest.raises(Unavailable, match="has to be copied") as caught:
        store.open()
    store.close()
    assert str(backups.folder_of(path)) in caught.value.hint
    assert old_stores.contents(path) == before
    assert old_stores.schema_of(path) == 4


OPENING = """
import pathlib, resource, sys
from windlass.core.errors import Unavailable
from windlass.store.store import Store

class Clock:
    def now(self):
        return 0.0

most = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
store = Store(pathlib.Path(sys.argv[1]), clock=Clock())
try:
    store.open()
except Unavailable as error:
    print(error.message, error.hint)
    sys.exit(6)
"""


def test_without_room_for_a_copy_the_store_is_refused_and_left_as_it_was(path: Path) -> None:
    old_stores.make(path, 4)
    before = old_stores.contents(path)
    most = path.stat().st_size // 2
    done = subprocess.run(
        [sys.executable, "-c", OPENING, str(path), str(most)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 6, done.stderr
    assert "make room" in done.stdout
    assert names(path) == []
    assert old_stores.contents(path) == before
    assert old_stores.schema_of(path) == 4
    migrate(path)
    assert old_stores.still_held(path, before) == before


def test_a_folder_with_the_name_of_an_unfinished_copy_is_nobodys_business(path: Path) -> None:
    old_stores.make(path, 4)
    stranger = backups.folder_of(path) / "q.partial"
    stranger.mkdir(parents=True)
    migrate(path)
    assert stranger.is_dir()
    assert len(names(path)) == 2
