"""What is known of each driver's model: whether it answers, and whose turn it is while it does not.

Kept as the newest event of its kind, so that it outlives the daemon; written by the one writer, so
that two never try at once.
"""

from __future__ import annotations

import zlib

import msgspec
import sqlalchemy as sa

from windlass.core import events
from windlass.core.events import BackendDown, BackendState, BackendUp
from windlass.core.ids import RepoId
from windlass.core.runs import backend as core
from windlass.core.runs.backend import Backend, Turn
from windlass.core.shapes import convert
from windlass.store import rows
from windlass.store.store import Writing


def of(connection: sa.Connection, driver: str) -> Backend:
    """How the model of a driver has answered lately."""
    known = rows.events(connection, subject=BackendState.subject_of(driver), last=1)
    return convert(events.read(BackendState, known[0]).backend, Backend) if known else Backend()


def failed(writing: Writing, repo: RepoId, driver: str, who: str, why: str) -> None:
    """Notes that somebody's turn has failed because of the model."""
    known = of(writing.connection, driver)
    seed = f"{driver} {who} {known.failures} {writing.now}"
    jitter = zlib.crc32(seed.encode()) / 2**32
    now = core.failed(known, who, why=why, at=writing.now, jitter=jitter)
    _put(writing, driver, known, now)
    if not known.failures:
        writing.emit(BackendDown(driver=driver, why=why), repo=repo)


def answered(writing: Writing, repo: RepoId, driver: str) -> None:
    """Notes that the model has answered somebody; nothing where it always has."""
    known = of(writing.connection, driver)
    _put(writing, driver, known, core.answered(known, at=writing.now))
    if known.failures:
        seconds = round(writing.now - known.since, 3)
        writing.emit(BackendUp(driver=driver, seconds=seconds, tries=known.failures), repo=repo)


def asked(writing: Writing, driver: str, who: str, *, turn: float = 0.0) -> Turn:
    """Says whether somebody may ask the model now, and else when to come again."""
    known = of(writing.connection, driver)
    now, given = core.asked(known, who, at=writing.now, turn=turn)
    _put(writing, driver, known, now)
    return given


def _put(writing: Writing, driver: str, known: Backend, now: Backend) -> None:
    if now != known:
        writing.emit(BackendState(driver=driver, backend=msgspec.to_builtins(now)))
