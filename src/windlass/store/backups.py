"""Copies of the database, made before it is changed for a newer Windlass.

They lie in the folder `backups` beside it, named for the schema they have and the time, and each is
a database that an older Windlass opens. A copy has its name only once it is whole, checked and on
the disk.
"""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

from windlass.core.errors import ConfigError, Unavailable
from windlass.core.ports import Reached

KEPT = 5
_PARTIAL = ".partial"
_PAGES = 64
"""So many pages are copied at a time; in between, the process may die, under test."""
_TIME = re.compile(r"-\d+-(\d{8}T\d{6}Z)\.db$")


def folder_of(database: Path) -> Path:
    """Where the copies of a database lie."""
    return database.parent / "backups"


def make(database: Path, *, schema: int, now: float, reached: Reached) -> Path:
    """Copies a database that has that schema; forgets all but the newest copies.

    Where it cannot be copied this is refused, with what to do about it.
    """
    folder = folder_of(database)
    made = folder / f"{database.stem}-{schema}-{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%SZ}.db"
    partial = made.with_name(made.name + _PARTIAL)
    reached("backup.begin")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        _copy(database, partial, reached)
        reached("backup.copied")
        _check(partial, schema)
        _sync(partial)
        reached("backup.checked")
        partial.rename(made)
        _sync(folder)
        reached("backup.named")
        _forget_old(folder, made)
        reached("backup.end")
    except (OSError, sqlite3.Error) as error:
        clear(database)
        room = (database.stat().st_size >> 20) + 1
        raise Unavailable(
            f"{database} has to be changed for this Windlass, and cannot be copied first: {error}",
            f"make room for {room} MB in {folder}, which must be yours to write, and try again;"
            " the database is as it was",
        ) from error
    return made


def clear(database: Path) -> None:
    """Removes what is left of a copy that was not finished."""
    for left in folder_of(database).glob(f"*{_PARTIAL}*"):
        if left.is_dir():
            continue  # none of ours
        try:
            left.unlink()
        except OSError as error:
            raise ConfigError(
                f"{left}, the rest of a backup, cannot be removed: {error.strerror}", "remove it"
            ) from error


def _copy(database: Path, target: Path, reached: Reached) -> None:
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy, pages=_PAGES, progress=lambda *_: reached("backup.copying"))
        # Without this the copy would need two more files beside it whenever it is opened.
        copy.execute("PRAGMA journal_mode=DELETE")


def _check(copy: Path, schema: int) -> None:
    with closing(sqlite3.connect(copy)) as connection:
        (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise sqlite3.DatabaseError(f"the copy is damaged: {verdict}")
        if schema == 0:  # somebody else's tables, which have no such number
            return
        row = connection.execute("SELECT version FROM schema_version").fetchone()
        if row != (schema,):
            raise sqlite3.DatabaseError(f"the copy is not of schema {schema}: {row}")


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _forget_old(folder: Path, newest: Path) -> None:
    times = {path: match[1] for path in folder.iterdir() if (match := _TIME.search(path.name))}
    # What was made just now stays, whatever the clock said when the others were made.
    del times[newest]
    for old in sorted(times, key=lambda path: times[path], reverse=True)[KEPT - 1 :]:
        old.unlink()
