"""A lost database is replaced by its newest good copy, and nothing is answered from a lost one."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from tests.support import whole_rows
from tests.support.clocks import Stopped

from windlass.core.errors import Unavailable
from windlass.core.events import RepoAdded
from windlass.core.schema import SCHEMA
from windlass.store import backups, rows
from windlass.store.store import Store, Writing

NOW = 1_790_000_000.0
DAY = 86400.0


def opened(path: Path, now: float = NOW) -> Store:
    store = Store(path, clock=Stopped(now))
    store.open()
    return store


def add(writing: Writing, name: str, said: str = "") -> None:
    whole_rows.add_repo(writing, name)
    writing.emit(RepoAdded(root=f"/{name}{said}"))


def known(store: Store) -> list[str]:
    return [repo.id for repo in store.read(rows.repos)]


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    """A store with one repository in its copy, and one more since."""
    made = opened(path)
    made.write(partial(add, name="r1"))
    made.copy_daily()
    made.write(partial(add, name="r2"))
    yield made
    made.close()


def delete(path: Path) -> None:
    path.unlink()


def move(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))


def truncate(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(4096 * 3 + 17)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def spoil(path: Path) -> None:
    path.write_bytes(b"garbage " * 1000)


def put_old_over(path: Path) -> None:
    (copy,) = backups.folder_of(path).glob("*.db")
    shutil.copyfile(copy, path)


WAYS = [delete, move, truncate, empty, spoil]


@pytest.mark.parametrize("lose", WAYS)
def test_a_lost_database_is_replaced_by_its_newest_good_copy(
    path: Path, store: Store, lose: Callable[[Path], None]
) -> None:
    store.close()
    lose(path)
    again = opened(path)
    assert known(again) == ["r1"]
    assert again.replaced is not None
    assert again.replaced.copy is not None
    again.write(partial(add, name="r3"))
    again.close()
    later = opened(path)
    assert known(later) == ["r1", "r3"]
    assert later.replaced is None
    later.close()


@pytest.mark.parametrize("lose", [*WAYS, put_old_over])
def test_nothing_is_answered_from_a_database_that_is_lost_under_the_store(
    path: Path, store: Store, lose: Callable[[Path], None]
) -> None:
    lose(path)
    with pytest.raises(Unavailable, match="the database is lost"):
        store.write(partial(add, name="r3"))
    with pytest.raises(Unavailable, match="the database is lost"):
        known(store)


@pytest.mark.parametrize("lose", [delete, move])
def test_all_that_was_in_a_file_without_a_name_is_kept_when_the_store_is_left(
    path: Path, store: Store, lose: Callable[[Path], None]
) -> None:
    lose(path)
    with pytest.raises(Unavailable):
        known(store)
    store.leave()
    again = opened(path)
    assert known(again) == ["r1", "r2"]
    assert again.replaced is not None
    assert again.replaced.copy is not None
    assert again.replaced.copy.rescued
    again.close()
    later = backups.newest(path)
    assert later is not None
    assert later.path == again.replaced.copy.path
    assert not later.rescued, "by now it is no more than an older copy"


def test_a_store_whose_log_was_deleted_answers_no_more_and_loses_nothing(
    path: Path, store: Store
) -> None:
    path.with_name(f"{path.name}-wal").unlink()
    with pytest.raises(Unavailable, match="the database is lost"):
        known(store)
    store.leave()
    newest = backups.newest(path)
    assert newest is not None
    with closing(sqlite3.connect(newest.path)) as copy:
        assert copy.execute("SELECT count(*) FROM repos").fetchone() == (2,)


def test_its_own_changes_are_nobodys_loss(store: Store) -> None:
    for number in range(300):  # until SQLite carries its log into the file
        store.write(partial(add, name=f"n{number}", said="x" * 20_000))
    assert len(known(store)) == 302


def test_what_another_program_does_to_it_as_a_database_is_no_loss(path: Path, store: Store) -> None:
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("UPDATE repos SET root = '/elsewhere'")
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.write(partial(add, name="r3"))
    assert {repo.root for repo in store.read(rows.repos)} == {"/elsewhere", "/r3"}


def test_the_newest_good_copy_is_the_one_in_which_most_had_happened(
    path: Path, store: Store
) -> None:
    folder = backups.folder_of(path)
    (first,) = folder.iterdir()
    store.write(partial(add, name="r3"))
    backups.make(path, schema=SCHEMA, now=NOW - 30 * DAY, reached=lambda _: None)
    damaged = folder / f"windlass-{SCHEMA}-20991231T000000Z.db"
    damaged.write_bytes(first.read_bytes()[:5000])
    newest = backups.newest(path)
    assert newest is not None
    assert newest.path not in (first, damaged)


def test_the_database_is_copied_once_a_day_and_the_newest_five_are_kept(path: Path) -> None:
    migrated = backups.folder_of(path) / "windlass-4-20200101T000000Z.db"
    migrated.parent.mkdir()
    migrated.touch()
    for hour in range(0, 8 * 24, 6):
        store = opened(path, NOW + hour * 3600.0)
        store.copy_daily()
        store.close()
    names = {copy.name for copy in backups.folder_of(path).iterdir()}
    assert names == {
        migrated.name,
        *(f"windlass-{SCHEMA}-202609{day}T141320Z.db" for day in range(24, 29)),
    }


@pytest.mark.usefixtures("store")
def test_a_copy_is_due_when_the_clock_was_set_back(path: Path) -> None:
    assert not backups.is_due(path, NOW)
    assert backups.is_due(path, NOW - 3600.0)
