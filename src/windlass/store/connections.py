"""Connections to the database: how many there are, and how each of their transactions begins.

Python's sqlite3 module begins transactions by itself, but only for INSERT, UPDATE and DELETE: what
reads, and what makes or changes a table, would stand outside of any. So the driver is told to leave
transactions alone, and each of them is begun here. Another database begins its own properly, and is
left to it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import sqlalchemy as sa

from windlass.core.printable import encodable

READERS = 32
"""So many threads read at once. The pools of the daemon may have eight times as many, but a read
takes a millisecond and has the interpreter to itself for most of it: more connections would answer
nobody sooner. Whoever comes when all are taken waits for the first that is free: 244 threads that
did nothing but read, twenty times each, all got their answers, after three seconds at the most."""
PATIENCE = 30.0
"""Seconds to wait for it. Only a defect holds them all for so long; the read is then refused with
Unavailable, and nothing was changed by it."""
BUSY = 10.0
"""Seconds to wait for the lock of another program, as somebody's `sqlite3 windlass.db` may hold."""
_LAST_PATIENCE = 200
"""Milliseconds to wait for those who still read when the process ends."""
_SMALL_CACHE = "PRAGMA cache_size=-256"
"""KiB of the database that a reader keeps. SQLite would keep 2 MiB in each of them, which grow with
the database and are never given back. They are of little use: a reader forgets them as soon as
somebody has written, and the system has the file in memory."""
_SETTINGS = ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON")


def reading(path: Path) -> sa.Engine:
    """Connections of readers: each transaction sees one state of the database, and changes none."""
    # The one that was returned last goes out first, because what it read is still in its cache.
    engine = _engine(path, size=READERS, pool_use_lifo=True)
    _settle(engine, settings=(*_SETTINGS, _SMALL_CACHE, "PRAGMA query_only=ON"), begin="BEGIN")
    return engine


def writing(path: Path) -> sa.Engine:
    """The connection of the writer: each transaction may write from its beginning.

    One that begins as a reader is refused its first change if somebody else wrote meanwhile.
    """
    engine = _engine(path, size=1)
    _settle(engine, settings=_SETTINGS, begin="BEGIN IMMEDIATE")
    return engine


def empty_log(engine: sa.Engine) -> None:
    """Has SQLite carry everything from the log beside the database into that, and empty the log."""
    if engine.dialect.name != "sqlite":
        return
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={_LAST_PATIENCE}")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()  # back to the others; none of them is closed


def _engine(path: Path, *, size: int, **more: Any) -> sa.Engine:
    path.parent.mkdir(parents=True, exist_ok=True)
    return sa.create_engine(
        f"sqlite:///{path}",
        connect_args={"timeout": BUSY, "check_same_thread": False, "isolation_level": None},
        json_serializer=_written,
        json_deserializer=msgspec.json.decode,
        poolclass=sa.QueuePool,
        pool_size=size,
        max_overflow=0,
        pool_timeout=PATIENCE,
        **more,
    )


def _written(value: Any) -> str:
    """A value as JSON; what no UTF-8 can hold, as in an agent's name for a file, is shown in it."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return msgspec.json.encode(_encodable(msgspec.to_builtins(value))).decode()


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {_encodable(key): _encodable(inner) for key, inner in value.items()}
    return [*map(_encodable, value)] if isinstance(value, list | tuple) else value


def _settle(engine: sa.Engine, *, settings: tuple[str, ...], begin: str) -> None:
    """Says how SQLite's connections are set, once each, and how their transactions begin."""
    if engine.dialect.name != "sqlite":
        return

    @sa.event.listens_for(engine, "connect")
    def _set(connection: Any, _record: Any) -> None:
        for statement in settings:
            connection.execute(statement)

    def _begin(connection: Any) -> None:
        connection.cursor().execute(begin)

    # Not by an event of the engine: one that has any pays for it with every statement, which made
    # small reads a sixth slower; and an error in there does not come as SQLAlchemy's own.
    engine.dialect.do_begin = _begin  # type: ignore[assignment, method-assign]
