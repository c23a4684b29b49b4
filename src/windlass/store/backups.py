"""Copies of the database: made before it is changed for a newer Windlass, daily, and at its loss.

They lie in the folder `backups` beside it, named for the schema they have and the time, and each is
a database that a Windlass of that schema opens. A copy has its name only once it is whole, checked
and on the disk. What was put aside because it could not be used lies there too, as `damaged-*`.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from windlass.core.errors import ConfigError, Unavailable
from windlass.core.ports import Reached
from windlass.core.schema import SCHEMA

log = logging.getLogger(__name__)
KEPT = 5
"""Copies that are kept: so many of this Windlass's schema, and so many of older ones."""
_DAY = 86400.0
_PARTIAL = ".partial"
_STAMP = "%Y%m%dT%H%M%SZ"
_PAGES = 64
"""So many pages are copied at a time; in between, the process may die, under test."""
_NAME = re.compile(r"-(?P<schema>\d+)-(?P<time>\d{8}T\d{6}Z)(?P<rescued>-rescued)?\.db$")
_RESCUED = "-rescued"
_BESIDE = ("", "-wal", "-shm", "-journal")
"""What the names of SQLite's files end with: the database, and those beside it."""


class Copy(NamedTuple):
    """A copy that can be put in the place of its database."""

    path: Path
    schema: int
    event: int
    """The number of the newest event in it."""
    rescued: bool
    """Whether it is all that there was: made when the database was lost, not before."""


def folder_of(database: Path) -> Path:
    """Where the copies of a database lie."""
    return database.parent / "backups"


def make(database: Path, *, schema: int, now: float, reached: Reached) -> Path:
    """Copies a database that has that schema; forgets all but the newest copies.

    Where it cannot be copied this is refused, with what to do about it.
    """
    with closing(sqlite3.connect(database)) as source:
        return _make(source, database, schema=schema, now=now, reached=reached)


def rescue(source: sqlite3.Connection, database: Path, *, now: float) -> Path:
    """Copies all that an open connection still reads of a database whose file is gone."""
    return _make(source, database, schema=SCHEMA, now=now, mark=_RESCUED)


def is_due(database: Path, now: float) -> bool:
    """Whether a day has passed since the last copy of this schema, or the clock was set back."""
    times = [
        datetime.strptime(match["time"], _STAMP).replace(tzinfo=UTC).timestamp()
        for match in _named(folder_of(database)).values()
        if int(match["schema"]) == SCHEMA
    ]
    return not times or not 0 <= now - max(times) < _DAY


def newest(database: Path) -> Copy | None:
    """The good copy in which most had happened, which no change of the clock can make another."""
    copies = [copy for path in _named(folder_of(database)) if (copy := _good(path)) is not None]
    return max(copies, key=lambda copy: (copy.event, copy.path.name), default=None)


def put_aside(database: Path, *, now: float) -> Path | None:
    """Moves a database that cannot be used out of the way, with what lies beside it.

    Returns the folder that has it now; None where there was nothing.
    """
    there = [path for end in _BESIDE if (path := database.with_name(database.name + end)).exists()]
    if not there:
        return None
    folder = folder_of(database) / f"damaged-{datetime.fromtimestamp(now, UTC):{_STAMP}}"
    number = 1
    while folder.exists():
        number += 1
        folder = folder.with_name(f"{folder.name.split('.')[0]}.{number}")
    folder.mkdir(mode=0o700, parents=True)
    for path in there:
        path.rename(folder / path.name)
    return folder


def put_back(database: Path, copy: Copy) -> Copy:
    """Puts a copy in the place of a database that is not there; returns the copy, which stays.

    One that was all that there was is a copy like any other from now on.
    """
    fresh = folder_of(database) / f"{copy.path.name}{_PARTIAL}"
    try:
        shutil.copyfile(copy.path, fresh)
        fresh.chmod(0o600)
        _sync(fresh)
        fresh.rename(database)
        _sync(database.parent)
        stays = copy.path.with_name(copy.path.name.replace(_RESCUED, ""))
        copy.path.rename(stays)
    except OSError as error:
        raise Unavailable(
            f"{database} is lost, and {copy.path} cannot be put in its place: {error}",
            "make room for it, and try again; the copy is as it was",
        ) from error
    return copy._replace(path=stays)


def _make(
    source: sqlite3.Connection,
    database: Path,
    *,
    schema: int,
    now: float,
    mark: str = "",
    reached: Reached = lambda _: None,
) -> Path:
    folder = folder_of(database)
    moment = f"{datetime.fromtimestamp(now, UTC):{_STAMP}}"
    made = folder / f"{database.stem}-{schema}-{moment}{mark}.db"
    partial = made.with_name(made.name + _PARTIAL)
    reached("backup.begin")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        _copy(source, partial, reached)
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
        raise Unavailable(
            f"{database} has to be copied, and cannot be: {error}",
            f"make room for another one in {folder}, which must be yours to write, and try again;"
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


def _copy(source: sqlite3.Connection, target: Path, reached: Reached) -> None:
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(target)) as copy:
        # Of one moment: without this the copy would begin anew whenever somebody writes.
        source.execute("BEGIN")
        try:
            source.execute("SELECT count(*) FROM sqlite_master").fetchone()
            source.backup(copy, pages=_PAGES, progress=lambda *_: reached("backup.copying"))
        finally:
            source.execute("ROLLBACK")
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


def _named(folder: Path) -> dict[Path, re.Match[str]]:
    """The files of a folder that have the name of a copy."""
    there = folder.iterdir() if folder.is_dir() else ()
    return {path: match for path in there if (match := _NAME.search(path.name))}


def _good(path: Path) -> Copy | None:
    """A copy that this Windlass can go on with; None where it is damaged, or of a newer one."""
    match = _NAME.search(path.name)
    schema = int(match["schema"]) if match else 0
    if match is None or not 0 < schema <= SCHEMA:
        return None
    try:
        _check(path, schema)
        with closing(sqlite3.connect(path)) as connection:
            (event,) = connection.execute("SELECT max(id) FROM events").fetchone()
    except sqlite3.Error as error:
        log.warning("%s is no copy to go on with: %s", path, error)
        return None
    return Copy(path, schema, event or 0, match["rescued"] is not None)


def _forget_old(folder: Path, newest: Path) -> None:
    named = _named(folder)
    # What was made just now stays, whatever the clock said when the others were made.
    of_newest = int(named.pop(newest)["schema"]) == SCHEMA
    for of_ours in (True, False):
        times = {p: m["time"] for p, m in named.items() if (int(m["schema"]) == SCHEMA) is of_ours}
        kept = KEPT - (of_ours is of_newest)
        for old in sorted(times, key=lambda path: times[path], reverse=True)[kept:]:
            old.unlink()
