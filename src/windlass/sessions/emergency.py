"""Ending every session of a state folder at once, from its files and marks alone.

For `wl estop`: no daemon, no tmux and no store is asked. What carries the mark of a session, and
whatever is below a holder, is told to end, and killed a moment later; holders then end by
themselves, and write down how. Work stays in the workspaces.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from typing import TYPE_CHECKING, NamedTuple

from windlass.core.sessions import SPEC
from windlass.sessions import census, record

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from windlass.sessions.census import Identity, ProcessEntry

_MARKER = "WINDLASS_SESSION"
WITHIN = 1.8
"""Seconds for all of it."""
_GRACE = 0.3
"""Seconds in which programs may put away what they write at the moment."""
_FAREWELL = 0.5
"""Seconds in which holders may write down how their programs ended."""
_PAUSE = 0.02
_QUIET_LOOKS = 2


class Ended(NamedTuple):
    """How many sessions lived, and the processes that still do."""

    sessions: int
    survivors: tuple[int, ...]


class _Found(NamedTuple):
    marks: tuple[bytes, ...]
    holders: tuple[Identity, ...]


def end_all(home: Path, *, within: float = WITHIN) -> Ended:
    """Ends everything that runs for a session of a state folder, but this process and its own."""
    deadline = time.monotonic() + within
    found = _find(home)
    spared = _above(os.getpid())
    first = _look(found, spared)
    lived = _sessions(found, first)
    _signal((process.identity for process in first), signal.SIGTERM)
    _wait(found, spared, min(time.monotonic() + _GRACE, deadline))
    quiet = 0
    while quiet < _QUIET_LOOKS and time.monotonic() < deadline:
        left = [process.identity for process in _look(found, spared)]
        quiet = 0 if left else quiet + 1
        # Frozen first: what is stopped starts nothing while the others are killed.
        _signal(left, signal.SIGSTOP)
        _signal(left, signal.SIGKILL)
        time.sleep(_PAUSE)
    _dismiss(found.holders, min(time.monotonic() + _FAREWELL, deadline))
    left = [process.identity for process in _look(found, spared)]
    left += [holder for holder in found.holders if holder.lives()]
    return Ended(lived, tuple(process.pid for process in left))


def _find(home: Path) -> _Found:
    """The marks of all sessions that were ever started there, and the holders that live."""
    marks, holders = [], []
    for spec in home.glob(f"agents/*/sessions/*/{SPEC}"):
        folder = spec.parent
        started = record.read_started(folder)
        if started is not None:
            marks.append(f"{_MARKER}={started.marker}".encode())
        holder = record.read_holder(folder)
        living = holder.living() if holder else None
        if living is not None:
            # From now on the holder outlives its child, so that orphans stay below it.
            with contextlib.suppress(OSError):
                (folder / record.STOPPING).touch()
            holders.append(living)
    return _Found(tuple(marks), tuple(holders))


def _look(found: _Found, spared: frozenset[int]) -> list[ProcessEntry]:
    """What lives of all sessions now, without the holders."""
    if not found.marks and not found.holders:
        return []
    entries = census.take()
    children: dict[int, list[int]] = {}
    for pid, entry in entries.items():
        children.setdefault(entry.parent, []).append(pid)
    holders = {holder.pid for holder in found.holders if holder.lives()}
    chosen: set[int] = set()
    waiting = [pid for pid, entry in entries.items() if entry.has(*found.marks)] + [*holders]
    while waiting:
        pid = waiting.pop()
        if pid not in chosen and pid not in spared:
            chosen.add(pid)
            waiting += children.get(pid, ())
    return [entries[pid] for pid in chosen - holders if pid in entries]


def _sessions(found: _Found, living: list[ProcessEntry]) -> int:
    """How many sessions live: each has a holder, or processes with its mark."""
    marked = {mark for mark in found.marks for process in living if process.has(mark)}
    return max(len(found.holders), len(marked))


def _above(pid: int) -> frozenset[int]:
    """This process and those that it was started by: the person's terminal is among them."""
    line = set()
    while pid > 0 and pid not in line:
        line.add(pid)
        descent = census.descent(pid)
        pid = descent.parent if descent else 0
    return frozenset(line)


def _signal(processes: Iterable[Identity], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if process.lives():
                os.kill(process.pid, number)


def _wait(found: _Found, spared: frozenset[int], until: float) -> None:
    while time.monotonic() < until and _look(found, spared):
        time.sleep(_PAUSE)


def _dismiss(holders: tuple[Identity, ...], until: float) -> None:
    """Lets holders end by themselves, once nothing is below them; kills those that do not."""
    _signal(holders, signal.SIGCONT)
    while time.monotonic() < until and any(holder.lives() for holder in holders):
        time.sleep(_PAUSE)
    _signal(holders, signal.SIGKILL)
    patience = time.monotonic() + 5 * _PAUSE
    while time.monotonic() < patience and any(holder.lives() for holder in holders):
        time.sleep(_PAUSE)
