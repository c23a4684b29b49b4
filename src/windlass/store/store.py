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
from typing import Any, NamedTuple, TypeVar

import msgspec
import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError
from sqlalchemy.exc import TimeoutError as PoolExhausted

from windlass import disk_room
from windlass.core.errors import ConfigError, Unavailable, WindlassError
from windlass.core.events import EventData, agent_subject
from windlass.core.ids import RepoId, Uid
from windlass.core.ports import Reached, WallClock
from windlass.core.schema import SCHEMA
from windlass.store import backups, connections, tables
from windlass.store.backups import Copy
from windlass.store.database_file import DatabaseFile
from windlass.store.migrations import upgrade

log = logging.getLogger(__name__)
T = TypeVar("T")
_CHECKED_UP_TO = 256 << 20
"""Checking a whole file costs about a second a GiB; past this size a start would feel it."""
_OF_THE_DISK = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
"""What SQLite fails with that says nothing about what is in the file."""
_OF_THE_CONTENT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
"""What SQLite fails with where that is no database any more."""


class Replaced(NamedTuple):
    """A database that could not be gone on with: why, what is in its place, where it is."""

    why: str
    copy: Copy | None
    """None where it was begun anew."""
    kept: Path | None


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


_TELL = sa.insert(tables.events)
"""Made once: it is written with every hook, and making it takes longer than writing."""


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
        beyond: int = 0,
    ) -> None:
        """Appends an event to the log, in this transaction.

        What it is about is the subject, else what its data says, else its agent. Its number is
        greater than `beyond`, for a log that has lost events. An empty repo is none: what intents
        have that concern no repository.
        """
        kind, fields = data.written()
        values: dict[str, Any] = {
            "at": self.now if at is None else at,
            "repo": repo or None,
            "agent": agent,
            "subject": subject or data.subject() or (agent and agent_subject(agent)),
            "kind": kind,
            "data": fields,
        }
        row = {**values, "id": beyond + 1} if beyond else values
        done = self.connection.execute(_TELL, row)
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
        self._file: DatabaseFile | None = None
        self._loss = ""
        self.replaced: Replaced | None = None
        """What was done about a database that was not there, or not usable, when it was opened."""

    def open(self) -> None:
        """Brings the database up to date and starts the writer.

        One that holds something is copied before it is changed, and left as it is where it cannot
        be. One that is gone or damaged is replaced by the newest good copy, or begun anew where
        there is none; what there was of it is kept.
        """
        backups.clear(self._path)
        if self._is_empty():
            if (copy := backups.newest(self._path)) is not None:
                self._replace("it was not there", copy)
        elif damage := self._try():
            self._replace(damage, backups.newest(self._path))
        if self._try():
            raise ConfigError(
                f"{self._path} is not a usable database, nor is what was put in its place",
                "look at the disk; what there was is kept in the folder `backups` beside it",
            )
        self._path.chmod(0o600)
        with self._writing.connect() as connection:
            upgrade.version(connection)  # SQLite makes the files beside it when it is first asked
            self._file = DatabaseFile(self._path)
        self._writer.start()

    def _is_empty(self) -> bool:
        return not self._path.exists() or self._path.stat().st_size == 0

    def _replace(self, why: str, copy: Copy | None) -> None:
        """Puts a copy in the database's place, or nothing."""
        self._writing.dispose()
        kept = backups.put_aside(self._path, now=self._clock.now())
        if copy is not None:
            copy = backups.put_back(self._path, copy)
        self.replaced = Replaced(why, copy, kept)
        log.error("%s is replaced by %s: %s", self._path, copy.path if copy else "nothing", why)

    def _try(self) -> str:
        """Brings the database up to date; says what is wrong with it where that cannot be."""
        try:
            return self._bring_up_to_date()
        except DatabaseError as error:
            explained = _explained(error, self._path)
            if explained is not error:
                raise explained from error
            if _code(error) in _OF_THE_CONTENT:
                return str(error.orig)
            if _code(error) in _OF_THE_DISK:
                raise Unavailable(
                    f"{self._path} cannot be opened: {error.orig}",
                    "look at the disk and at the rights of the folder, then try again;"
                    " the file is kept as it is",
                ) from error
            raise ConfigError(
                f"{self._path} is not a usable database: {error.orig}",
                "the file is kept as it is; move it away and its newest good copy takes its place,"
                " or it is begun anew (agents' work is in git, not in it)",
            ) from error

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
        itself by now, and what lies beside it is empty, but there. What is lost is copied, where it
        can still be read.
        """
        self._stop_writing()
        if self._loss:
            self._rescue()
            return
        try:
            connections.empty_log(self._writing)
        except sqlite3.OperationalError as error:  # then whoever opens it next does that
            log.warning("%s is left as after a crash: %s", self._path, error)

    def _rescue(self) -> None:
        """Copies a database whose files have no names any more: who has them open still reads them.

        What another program wrote over is not worth a copy.
        """
        if self._file is None or not self._file.is_gone():
            return
        connection = self._writing.raw_connection()
        try:
            source = connection.driver_connection
            if source is None:  # it was taken out of the pool just now
                raise AssertionError(self._path)
            made = backups.rescue(source, self._path, now=self._clock.now())
            log.warning("everything in %s is kept: %s", self._path, made)
        except (OSError, WindlassError) as error:
            log.error("%s is lost since its last copy: %s", self._path, error)  # noqa: TRY400
        finally:
            connection.close()

    def copy_daily(self) -> None:
        """Copies the database if that was not done for a day."""
        now = self._clock.now()
        if backups.is_due(self._path, now):
            self.require_file()
            backups.make(self._path, schema=SCHEMA, now=now, reached=lambda _: None)

    def require_file(self) -> None:
        """Refuses everything from the moment on at which the database is not ours alone any more.

        What is written to a file that was deleted, moved or written over is lost.
        """
        if not self._loss and self._file is not None:
            self._loss = self._file.loss()
        if self._loss:
            raise Unavailable(
                f"the database is lost: {self._loss}",
                "the daemon ends, and the next command starts one that brings back what was kept;"
                " `wl log` shows whether what you asked for last is in it",
            )

    def close(self) -> None:
        """Finishes what was asked for and stops."""
        self._stop_writing()
        self._reading.dispose()
        self._writing.dispose()
        if self._file is not None:
            self._file.close()
            self._file = None

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
        self.require_file()
        try:
            connection = self._reading.connect()
        except PoolExhausted:
            raise Unavailable(
                f"{self._path} is read by {connections.READERS} at once, and nobody is done",
                "try again; if it stays like this, `wl daemon stop` and go on",
            ) from None
        try:
            with connection, self._alone():
                return question(connection)
        except DatabaseError as error:
            self._judge(error)
            raise

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
                done.set_exception(self._told(error))
            else:
                for listener in self._listeners if events else ():
                    _call(listener, events)
                done.set_result(result)

    def _commit(self, change: Write) -> tuple[Any, list[Event]]:
        self.require_file()
        with self._writing.begin() as connection, self._alone():
            writing = Writing(connection, self._clock.now())
            result = change(writing)
        if self._file is not None:
            self._loss = self._file.written()
        self.require_file()
        return result, writing.events

    def _told(self, error: Exception) -> Exception:
        """What the caller of a change that failed is told."""
        try:
            if isinstance(error, DatabaseError):
                self._judge(error)
        except Unavailable as lost:
            return lost
        return _explained(error, self._path)

    def _judge(self, error: DatabaseError) -> None:
        """Raises that the database is lost, where an error of SQLite's is because of that."""
        if _code(error) in _OF_THE_CONTENT:
            self._loss = self._loss or f"{self._path} is damaged: {error.orig}"
        self.require_file()


def _code(error: DatabaseError) -> int:
    """What SQLite calls the kind of an error."""
    return getattr(error.orig, "sqlite_errorcode", 0) & 0xFF


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
