"""The store: one thread writes, anyone reads, and events commit with the state they tell of."""

from __future__ import annotations

import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError
from sqlalchemy.exc import TimeoutError as PoolExhausted

from windlass import disk_room
from windlass.core.errors import ConfigError, Unavailable
from windlass.core.events import EventData
from windlass.core.ids import RepoId, Uid
from windlass.core.ports import Reached, WallClock
from windlass.store import backups, connections, tables
from windlass.store.migrations import upgrade

log = logging.getLogger(__name__)
T = TypeVar("T")
_CHECKED_UP_TO = 256 << 20
"""Checking a whole file costs about a second a GiB; past this size a start would feel it."""
_OF_THE_DISK = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
"""What SQLite fails with that says nothing about what is in the file."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened."""

    id: int
    at: float
    kind: str
    repo: RepoId | None
    agent: Uid | None
    data: dict[str, Any]
    subject: str | None = None
    """What it is about: `task:PB-1`, `change:c12`, `message:` and an id, `agent:` and a uid."""


class Writing:
    """One transaction of the writer: a connection, and the events that it will commit."""

    def __init__(self, connection: sa.Connection, now: float) -> None:
        self.connection = connection
        self.now = now
        self.events: list[Event] = []

    def emit(
        self,
        data: EventData,
        *,
        repo: RepoId | None = None,
        agent: Uid | None = None,
        subject: str | None = None,
        at: float | None = None,
    ) -> None:
        """Appends an event to the log, in this transaction.

        What it is about is the subject, else what its data says, else its agent. An empty repo is
        none: what intents have that concern no repository.
        """
        kind, fields = data.written()
        values: dict[str, Any] = {
            "at": self.now if at is None else at,
            "repo": repo or None,
            "agent": agent,
            "subject": subject or data.subject() or (agent and f"agent:{agent}"),
            "kind": kind,
            "data": fields,
        }
        done = self.connection.execute(sa.insert(tables.events).values(values))
        number = done.inserted_primary_key
        if number is None:  # every dialect that we support returns the key
            raise AssertionError(kind)
        self.events.append(Event(id=number[0], **values))


Write = Callable[[Writing], Any]
Listener = Callable[[list[Event]], None]


class Store:
    """The database behind everything. Open it once per process; close it to stop the writer."""

    def __init__(self, path: Path, *, clock: WallClock, reached: Reached = lambda _: None) -> None:
        self._path = path
        self._clock = clock
        self._reached = reached
        self._reading = connections.reading(path)
        self._writing = connections.writing(path)
        self._asking = threading.local()
        self._listeners: list[Listener] = []
        self._queue: queue.SimpleQueue[tuple[Write, Future[Any]] | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._write_all, name="writer", daemon=True)

    def open(self) -> None:
        """Brings the database up to date and starts the writer.

        One that holds something is copied before it is changed. What is no database, or cannot be
        copied, is left as it is.
        """
        backups.clear(self._path)
        try:
            damage = self._bring_up_to_date()
        except DatabaseError as error:
            explained = _explained(error, self._path)
            if explained is not error:
                raise explained from error
            if getattr(error.orig, "sqlite_errorcode", 0) & 0xFF in _OF_THE_DISK:
                raise Unavailable(
                    f"{self._path} cannot be opened: {error.orig}",
                    "look at the disk and at the rights of the folder, then try again;"
                    " the file is kept as it is",
                ) from error
            damage = str(error.orig)
        if damage:
            raise ConfigError(
                f"{self._path} is not a usable database: {damage}",
                "the file is kept as it is; move it away to start anew"
                " (agents' work is in git, not in it)",
            )
        self._path.chmod(0o600)
        self._writer.start()

    def _bring_up_to_date(self) -> str:
        """Copies and migrates the database, unless it is damaged; says how it is."""
        with self._writing.connect() as connection:
            damage = self._damage(connection)
            if damage:
                return damage
            version = upgrade.outdated(connection, path=self._path)
            holds_something = version is not None and upgrade.holds_something(connection)
        if version is None:
            return ""
        if holds_something:
            now = self._clock.now()
            backups.make(self._path, schema=version, now=now, reached=self._reached)
        upgrade.migrate(self._writing, reached=self._reached)
        return ""

    def _damage(self, connection: sa.Connection) -> str:
        if self._path.stat().st_size > _CHECKED_UP_TO:
            return ""
        verdict = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        return "" if verdict == "ok" else str(verdict)

    def leave(self) -> None:
        """Finishes what was asked for, in a process that ends at once.

        The last one to close a database removes the files beside it, and who opens it on a full
        disk finds no room to make them again. So nothing is closed: everything is in the database
        itself by now, and what lies beside it is empty, but there.
        """
        self._stop_writing()
        try:
            connections.empty_log(self._writing)
        except sqlite3.OperationalError as error:  # then whoever opens it next does that
            log.warning("%s is left as after a crash: %s", self._path, error)

    def close(self) -> None:
        """Finishes what was asked for and stops."""
        self._stop_writing()
        self._reading.dispose()
        self._writing.dispose()

    def _stop_writing(self) -> None:
        self._queue.put(None)
        if self._writer.is_alive():
            self._writer.join()

    def listen(self, listener: Listener) -> None:
        """Calls `listener` with the events of each commit, on the writer's thread."""
        self._listeners.append(listener)

    @contextmanager
    def listening(self, listener: Listener) -> Iterator[None]:
        """Calls `listener` as `listen` does, for as long as the block takes."""
        self._listeners = [*self._listeners, listener]
        try:
            yield
        finally:
            self._listeners = [other for other in self._listeners if other is not listener]

    def write(self, change: Callable[[Writing], T]) -> T:
        """Runs a change in one transaction on the writer's thread and waits for the commit.

        A change writes with what it is given: one that asked here for another would wait for
        itself.
        """
        if threading.current_thread() is self._writer:
            raise AssertionError("a change asks the store for another one, and would wait for it")
        done: Future[T] = Future()
        self._queue.put((change, done))
        return done.result()

    def read(self, question: Callable[[sa.Connection], T]) -> T:
        """Answers a question from one state of the database, whoever writes meanwhile.

        A question holds a connection, of which there are only so many: it should not wait for
        anything, and must not ask the store another one. Nor may a change, which would be told how
        things were before it.
        """
        if getattr(self._asking, "busy", False):
            raise AssertionError("a question or a change asks the store another question")
        try:
            connection = self._reading.connect()
        except PoolExhausted:
            raise Unavailable(
                f"{self._path} is read by {connections.READERS} at once, and nobody is done",
                "try again; if it stays like this, `wl daemon stop` and go on",
            ) from None
        with connection, self._alone():
            return question(connection)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Refuses further questions of this thread meanwhile."""
        self._asking.busy = True
        try:
            yield
        finally:
            self._asking.busy = False

    def _write_all(self) -> None:
        while (job := self._queue.get()) is not None:
            change, done = job
            try:
                result, events = self._commit(change)
            except Exception as error:  # noqa: BLE001 - the caller gets it, the writer goes on
                done.set_exception(_explained(error, self._path))
            else:
                for listener in self._listeners if events else ():
                    _call(listener, events)
                done.set_result(result)

    def _commit(self, change: Write) -> tuple[Any, list[Event]]:
        with self._writing.begin() as connection, self._alone():
            writing = Writing(connection, self._clock.now())
            result = change(writing)
        return result, writing.events


def _call(listener: Listener, events: list[Event]) -> None:
    try:
        listener(events)
    except Exception:
        # What it was to hear of is committed; a writer that ended here would take every later
        # change with it.
        log.exception("a listener of the store failed")


def _explained(error: Exception, path: Path) -> Exception:
    """Gives a full or read-only disk and a locked file their names; other errors pass unchanged."""
    cause = getattr(error, "orig", None)
    if not isinstance(cause, sqlite3.OperationalError):
        return error
    # Without room for its files beside the database SQLite speaks of errors of the disk.
    if "full" in str(cause) or disk_room.full(path.parent):
        return Unavailable(f"no room left to write {path}", disk_room.HINT)
    if "readonly" in str(cause):
        return Unavailable(f"{path} cannot be written: it is read-only", disk_room.HINT_CLOSED)
    if "locked" in str(cause):
        return Unavailable(
            f"another program holds {path}", "close it (a database browser?) and try again"
        )
    return error
