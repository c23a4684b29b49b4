"""Readers and the writer at the same time: whole transactions, and nobody in another's way."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import OperationalError
from tests.support.clocks import Stopped
from tests.support.ticks import Tick, tick

from windlass.core.errors import Unavailable
from windlass.daemon.kernel.pools import POOLS
from windlass.store import connections, rows, tables
from windlass.store.store import Store, Writing

SOON = 20
"""Seconds that nothing here takes, unless it hangs."""


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(connections.READERS + 8) as pool:
        yield pool


def count(connection: sa.Connection) -> int:
    return len(rows.events(connection))


class Pause:
    """Where a thread waits in the middle of something, until the test lets it go on."""

    def __init__(self) -> None:
        self.there = threading.Event()
        self.on = threading.Event()

    def __call__(self) -> None:
        """Says that the thread is there, and waits."""
        self.there.set()
        assert self.on.wait(SOON)

    @contextmanager
    def during(self) -> Iterator[None]:
        """The thread is there for as long as the block takes."""
        assert self.there.wait(SOON)
        try:
            yield
        finally:
            self.on.set()


def pausing(pause: Pause, before: Callable[[Any], Any], after: Callable[[Any], Any]) -> Any:
    """Something that is done in two halves, with a pause between them."""

    def halves(connection: Any) -> tuple[Any, Any]:
        first = before(connection)
        pause()
        return first, after(connection)

    return halves


def test_what_is_read_twice_in_one_read_is_the_same_though_somebody_wrote_in_between(
    store: Store, threads: ThreadPoolExecutor
) -> None:
    pause = Pause()
    read = threads.submit(store.read, pausing(pause, count, count))
    with pause.during():
        store.write(tick)
        assert store.read(count) == 1
    assert read.result(SOON) == (0, 0)


def test_a_reader_waits_for_no_writer(store: Store, threads: ThreadPoolExecutor) -> None:
    pause = Pause()
    written = threads.submit(store.write, pausing(pause, tick, tick))
    with pause.during():
        assert threads.submit(store.read, count).result(SOON) == 0
    written.result(SOON)
    assert store.read(count) == 2


def test_a_writer_waits_for_no_reader(store: Store, threads: ThreadPoolExecutor) -> None:
    pause = Pause()
    read = threads.submit(store.read, pausing(pause, count, count))
    with pause.during():
        threads.submit(store.write, tick).result(SOON)
    read.result(SOON)


def test_a_write_that_raises_leaves_nothing_not_even_a_table(store: Store) -> None:
    def change(writing: Writing) -> None:
        writing.connection.exec_driver_sql("CREATE TABLE half (done INTEGER)")
        writing.emit(Tick())
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.write(change)
    assert store.read(count) == 0
    assert "half" not in store.read(lambda c: sa.inspect(c).get_table_names())


def test_a_write_that_reads_first_is_not_overtaken_by_another_program(
    store: Store, path: Path
) -> None:
    def change(writing: Writing) -> str:
        count(writing.connection)
        with closing(sqlite3.connect(path, timeout=0)) as other:
            try:
                other.execute("DELETE FROM events")
            except sqlite3.OperationalError as refused:
                writing.emit(Tick())
                return str(refused)
        return "overtaken"

    assert store.write(change) == "database is locked"
    assert store.read(count) == 1


def test_a_read_changes_nothing(store: Store) -> None:
    with pytest.raises(OperationalError, match="readonly"):
        store.read(lambda c: c.execute(sa.delete(tables.events)))


def test_a_program_that_holds_the_file_is_named_as_the_cause(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BUSY", 0.05)
    store = Store(path, clock=Stopped())
    store.open()
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="another program holds"):
            store.write(tick)
    store.write(tick)
    assert store.read(count) == 1
    store.close()


def hold_every_connection(
    store: Store, threads: ThreadPoolExecutor
) -> list[tuple[Pause, Future[Any]]]:
    """Has as many readers in the middle of a read as there may be."""
    pauses = [Pause() for _ in range(connections.READERS)]
    held = [(p, threads.submit(store.read, pausing(p, count, count))) for p in pauses]
    for pause in pauses:
        assert pause.there.wait(SOON)
    return held


def test_a_reader_too_many_waits_for_the_first_connection_that_is_free(
    store: Store, threads: ThreadPoolExecutor
) -> None:
    held = hold_every_connection(store, threads)
    late = threads.submit(store.read, count)
    store.write(tick)
    assert not late.done()
    held[0][0].on.set()
    assert late.result(SOON) == 1
    for pause, read in held:
        pause.on.set()
        assert read.result(SOON) == (0, 0)


def test_as_many_readers_as_the_daemon_has_threads_are_all_answered(store: Store) -> None:
    number = sum(pool.bound for pool in POOLS)
    assert number > connections.READERS
    together = threading.Barrier(number, timeout=SOON)

    def read() -> int:
        together.wait()
        return store.read(count)

    store.write(tick)
    with ThreadPoolExecutor(number) as threads:
        reads = [threads.submit(read) for _ in range(number)]
        assert [done.result(SOON) for done in reads] == [1] * number


def test_a_reader_that_waited_long_enough_is_told_so(
    path: Path, threads: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 0.05)
    store = Store(path, clock=Stopped())
    store.open()
    held = hold_every_connection(store, threads)
    with pytest.raises(Unavailable, match="nobody is done"):
        store.read(count)
    for pause, read in held:
        pause.on.set()
        read.result(SOON)
    store.close()
