"""The store on a real SQLite file: transactions, events, one writer, files that are kept."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable
from tests.support import whole_rows
from tests.support.agents import an_agent
from tests.support.clocks import Stopped
from tests.support.ticks import Tick, tick

from windlass.core.errors import ConfigError, Unavailable
from windlass.core.events import IntentFailed, RepoAdded
from windlass.core.ids import RepoId, Uid
from windlass.store import rows, tables
from windlass.store.store import Event, Store, Writing

NOTICE = {"repo": "r1", "at": 1.0, "sender": "fox", "type": "note"}


def test_a_listener_that_fails_costs_nobody_their_change(store: Store) -> None:
    heard: list[str] = []

    def fails(_: list[Event]) -> None:
        raise ZeroDivisionError

    store.listen(fails)
    store.listen(lambda events: heard.extend(event.kind for event in events))
    for name in ("one", "two"):
        store.write(partial(tick, name=name))
    assert heard == ["tick", "tick"]


def test_text_that_no_utf8_can_hold_is_kept_with_that_shown(store: Store) -> None:
    name = "a" + os.fsdecode(b"\xff")
    told = IntentFailed(intent="k1", what="end", error={"message": name, name: [name, 1]})
    store.write(lambda w: w.emit(told))
    store.write(
        lambda w: w.connection.execute(sa.insert(tables.notices).values({**NOTICE, "text": name}))
    )
    (event,) = store.read(rows.events)
    shown = "a\\udcff"
    assert event.data["error"] == {"message": shown, shown: [shown, 1]}
    assert store.read(lambda c: c.scalar(sa.select(tables.notices.c.text))) == shown


def test_an_event_commits_with_the_state_that_it_tells_of(store: Store) -> None:
    def change(writing: Writing) -> None:
        whole_rows.add_repo(writing, "r1")
        writing.emit(RepoAdded(root="/r1"))

    store.write(change)
    assert [repo.id for repo in store.read(rows.repos)] == ["r1"]
    (event,) = store.read(rows.events)
    assert (event.kind, event.data, event.at) == ("repo.added", {"root": "/r1"}, 100.0)


LEAVING = """
import os, pathlib, sys
from windlass.store import tables
from windlass.store.store import Store
from tests.support.clocks import Stopped
from tests.support.ticks import tick
store = Store(pathlib.Path(sys.argv[1]), clock=Stopped())
store.open()
store.write(lambda w: tick(w, name="one"))
store.read(lambda c: None)
store.leave()
os._exit(0)
"""


def test_a_process_that_leaves_a_store_has_everything_in_it_and_what_lies_beside_it_there(
    path: Path,
) -> None:
    """Made again, the files beside it would need room that a full disk does not have."""
    subprocess.run([sys.executable, "-c", LEAVING, str(path)], check=True)
    beside = {name: path.with_name(path.name + name).stat().st_size for name in ("-wal", "-shm")}
    assert beside["-wal"] == 0
    assert beside["-shm"] > 0
    alone = path.with_name("alone.db")
    shutil.copyfile(path, alone)
    with contextlib.closing(sqlite3.connect(alone)) as connection:
        assert connection.execute("SELECT kind FROM events").fetchall() == [("tick",)]


def test_a_change_that_fails_leaves_neither_state_nor_event(store: Store) -> None:
    def change(writing: Writing) -> None:
        whole_rows.add_repo(writing, "r1")
        writing.emit(RepoAdded(root="/r1"))
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        store.write(change)
    assert store.read(rows.repos) == []
    assert store.read(rows.events) == []


def test_the_writer_goes_on_after_a_change_that_failed(store: Store) -> None:
    with pytest.raises(ZeroDivisionError):
        store.write(lambda _: 1 // 0)
    store.write(lambda w: whole_rows.add_repo(w, "r1"))
    assert len(store.read(rows.repos)) == 1


def test_a_change_that_would_wait_for_itself_is_refused(store: Store) -> None:
    with pytest.raises(AssertionError, match="wait for it"):
        store.write(lambda _: store.write(lambda _: None))
    assert store.write(lambda _: "the writer goes on") == "the writer goes on"


def test_a_change_that_would_be_told_how_things_were_before_it_is_refused(store: Store) -> None:
    with pytest.raises(AssertionError, match="another question"):
        store.write(lambda _: store.read(rows.repos))
    assert store.read(rows.repos) == []


def test_a_question_that_holds_a_connection_waits_for_no_second_one(store: Store) -> None:
    with pytest.raises(AssertionError, match="another question"):
        store.read(lambda _: store.read(rows.repos))
    assert store.read(rows.repos) == []


def test_many_threads_write_and_every_event_has_a_number_of_its_own(store: Store) -> None:
    def work(name: int) -> None:
        for count in range(20):
            store.write(partial(tick, name=name, count=count))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = store.read(rows.events)
    assert len(events) == 160
    assert [event.id for event in events] == sorted({event.id for event in events})
    for name in range(8):
        counts = [event.data["count"] for event in events if event.data["name"] == name]
        assert counts == list(range(20))


def test_a_listener_hears_of_a_commit_before_the_writer_returns(store: Store) -> None:
    def emit_and_fail(writing: Writing) -> None:
        writing.emit(Tick(name="two"))
        _ = 1 // 0

    heard: list[Event] = []
    store.listen(heard.extend)
    store.write(lambda w: w.emit(Tick(name="one")))
    assert [event.data for event in heard] == [{"name": "one"}]
    with pytest.raises(ZeroDivisionError):
        store.write(emit_and_fail)
    assert [event.data for event in heard] == [{"name": "one"}]


def test_the_log_is_read_after_an_id_or_from_its_end(store: Store) -> None:
    for number in range(5):
        store.write(partial(tick, number=number))
    every = store.read(rows.events)
    after = store.read(lambda c: rows.events(c, after=every[2].id))
    assert [event.data["number"] for event in after] == [3, 4]
    last = store.read(lambda c: rows.events(c, last=2))
    assert [event.data["number"] for event in last] == [3, 4]


def test_the_log_is_read_by_what_its_events_are_about(store: Store) -> None:
    for subject in ("task:PB-1", "change:c12", None, "task:PB-1"):
        store.write(partial(Writing.emit, data=Tick(), subject=subject))
    heard = store.read(lambda c: rows.events(c, subject="task:PB-1"))
    assert [(event.id, event.subject) for event in heard] == [(1, "task:PB-1"), (4, "task:PB-1")]
    assert [event.subject for event in store.read(rows.events)][1:3] == ["change:c12", None]
    asked = "EXPLAIN QUERY PLAN SELECT * FROM events WHERE id > 0 AND subject = 'x' ORDER BY id"
    plan = store.read(lambda c: c.exec_driver_sql(asked).all())
    assert "events_of_a_subject" in str(plan)


def test_an_event_of_an_agent_is_about_that_agent_unless_it_is_about_something_else(
    store: Store,
) -> None:
    store.write(lambda w: w.emit(Tick(), agent=Uid("fox")))
    store.write(lambda w: w.emit(Tick(), agent=Uid("fox"), subject="task:PB-1"))
    store.write(lambda w: w.emit(Tick()))
    subjects = [event.subject for event in store.read(rows.events)]
    assert subjects == ["agent:fox", "task:PB-1", None]


def test_a_listener_hears_what_an_event_is_about(store: Store) -> None:
    heard: list[Event] = []
    store.listen(heard.extend)
    store.write(lambda w: w.emit(Tick(name="moved"), subject="task:PB-1"))
    assert heard == store.read(rows.events)


def test_what_was_written_is_there_when_the_file_is_opened_again(path: Path) -> None:
    first = Store(path, clock=Stopped())
    first.open()
    first.write(lambda w: whole_rows.add_repo(w, "r1"))
    first.close()
    second = Store(path, clock=Stopped())
    second.open()
    assert [repo.id for repo in second.read(rows.repos)] == ["r1"]
    second.close()


def test_the_file_is_readable_by_its_owner_only(store: Store, path: Path) -> None:
    store.read(rows.repos)
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "damage", [b"this is no database at all\n" * 100, b"SQLite format 3\0junk"]
)
def test_a_file_that_is_no_database_is_kept_aside_and_begun_anew(path: Path, damage: bytes) -> None:
    path.write_bytes(damage)
    store = Store(path, clock=Stopped())
    store.open()
    assert store.read(rows.repos) == []
    store.close()
    assert store.replaced is not None
    assert store.replaced.copy is None
    assert store.replaced.kept is not None
    assert (store.replaced.kept / path.name).read_bytes() == damage


def test_a_file_that_the_system_does_not_let_open_is_not_called_damaged(path: Path) -> None:
    made = Store(path, clock=Stopped())
    made.open()
    made.close()
    content = path.read_bytes()
    path.with_name(f"{path.name}-wal").mkdir()  # as on a disk that has no room for that file
    with pytest.raises(Unavailable, match="cannot be opened") as refusal:
        Store(path, clock=Stopped()).open()
    assert "move it away" not in refusal.value.hint
    assert path.read_bytes() == content


def test_a_damaged_page_is_noticed_at_the_start(path: Path) -> None:
    first = Store(path, clock=Stopped())
    first.open()
    for number in range(200):
        first.write(partial(tick, text="x" * 500, number=number))
    first.close()
    whole = bytearray(path.read_bytes())
    for start in range(4096 * 3, len(whole) - 4096, 4096):
        whole[start : start + 64] = b"\xff" * 64
    path.write_bytes(bytes(whole))
    store = Store(path, clock=Stopped())
    store.open()
    store.close()
    assert store.replaced is not None
    assert store.replaced.kept is not None
    assert (store.replaced.kept / path.name).read_bytes() == bytes(whole)


def test_a_database_of_a_newer_windlass_is_refused_and_kept(path: Path) -> None:
    made = Store(path, clock=Stopped())
    made.open()
    made.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE schema_version SET version = 99")
    connection.close()
    store = Store(path, clock=Stopped())
    with pytest.raises(ConfigError, match="made by a newer Windlass") as caught:
        store.open()
    store.close()
    assert "upgrade" in caught.value.hint
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT version FROM schema_version").fetchone() == (99,)
    connection.close()


def test_every_table_can_be_made_on_postgres_too() -> None:
    for table in tables.metadata.sorted_tables:
        dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
        assert "CREATE TABLE" in str(CreateTable(table).compile(dialect=dialect))


def test_the_newest_session_is_that_of_the_highest_number_and_a_live_agents_alone(
    store: Store,
) -> None:
    def change(writing: Writing) -> None:
        whole_rows.add_repo(writing, "0" * 8)
        for name, ended in (("fox", None), ("owl", 9.0), ("new", None)):
            whole_rows.put_agent(writing, an_agent(name, ended_at=ended))
        for name, number in (("fox", 2), ("fox", 10), ("fox", 1), ("owl", 1)):
            session = rows.Session(agent=Uid(name), number=number, marker=f"{name}{number}")
            whole_rows.put_session(writing, session)

    store.write(change)
    newest = store.read(lambda c: [rows.newest_session(c, Uid(n)) for n in ("fox", "owl", "new")])
    assert [session and session.number for session in newest] == [10, 1, None]
    live = store.read(lambda c: [rows.live_session(c, Uid(n)) for n in ("fox", "owl", "new", "x")])
    assert [newest and newest[1].number for newest in live] == [10, None, None, None]


def test_of_several_who_ended_the_one_that_came_last_is_meant(store: Store) -> None:
    def add(writing: Writing) -> None:
        whole_rows.add_repo(writing, "0" * 8)
        for uid, ended in (("first", 9.0), ("later", 3.0), ("alive", None)):
            whole_rows.put_agent(writing, an_agent(uid, id="owl", ended_at=ended))

    store.write(add)
    found = store.read(lambda c: rows.last_ended(c, "owl", repo=None))
    assert found is not None
    assert found.uid == "later"
    assert store.read(lambda c: rows.last_ended(c, "owl", repo=RepoId("1" * 8))) is None
    assert store.read(lambda c: rows.last_ended(c, "ow", repo=None)) is None


def test_a_session_runs_from_its_start_to_its_end() -> None:
    session = rows.Session(agent=Uid("fox"), number=1, marker="m")
    started = msgspec.structs.replace(session, started_at=1.0)
    ended = msgspec.structs.replace(started, ended_at=2.0)
    assert [each.runs for each in (session, started, ended)] == [False, True, False]


def test_readers_keep_little_of_the_database_and_the_writer_as_much_as_usual(store: Store) -> None:
    """There are many of them, and what they keep grows with the database."""

    def cache(connection: sa.Connection) -> int:
        return int(connection.exec_driver_sql("PRAGMA cache_size").scalar_one())

    assert store.read(cache) == -256
    assert store.write(lambda writing: cache(writing.connection)) == -2000
