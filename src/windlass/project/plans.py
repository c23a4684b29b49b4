"""Plans as files: `.windlass/plans/TASK.md`."""

from __future__ import annotations

import itertools
import os
from functools import partial
from typing import NamedTuple

from windlass.core.board import FILE, plans
from windlass.core.board import board as boards_of
from windlass.core.board import edits as board_edits
from windlass.core.errors import ConfigError, Conflict, WindlassError
from windlass.core.printable import printable_line
from windlass.project import boards, edits, folder
from windlass.project.folder_lock import Remark

_TRIES = 20
"""Times that a plan is put in place that somebody saves in between."""


class Plan(NamedTuple):
    """A plan, and whether it was made just now."""

    task: str
    path: str
    made: bool


def keep(windlass: str, task: str, text: str) -> bool:
    """Keeps what somebody planned for a task, unless it has a plan; says whether it was kept."""
    path = folder.plan(windlass, task)
    data = boards_of.bytes_of(text.rstrip() + "\n")
    return edits.change(path, lambda was: data if was is None else was)


def put(windlass: str, task: str, text: str, *, replaces: bool) -> str:
    """Keeps a plan as the task's, or beside the one that it has; returns which file has it.

    One that it `replaces` goes beside it before; one that nobody has written into is none. Said
    twice, it is kept once.
    """
    path = folder.plan(windlass, task)
    data = boards_of.bytes_of(text.rstrip() + "\n")
    unwritten = _unwritten(windlass, task)
    for _ in range(_TRIES):
        was = _held(path)
        if was not in (None, data, unwritten):
            if not replaces:
                return _put_beside(path, data)
            _put_beside(path, was or b"")
        edits.change(path, partial(_unless_saved, was=was, data=data))
        if _held(path) == data:
            return path
    raise Conflict(f"somebody else keeps writing {printable_line(path)}", "try again later")


def is_there(windlass: str, task: str) -> bool:
    """Whether a task has a plan into which somebody has written; refuses what cannot hold one."""
    path = folder.plan(windlass, task)
    for place in (os.path.dirname(path), path):
        if os.path.islink(place):
            raise ConfigError(
                f"{printable_line(place)} is a symbolic link, and nothing is written through links",
                "put the folder or the file itself there",
            )
    held = _held(path)
    return held is not None and held != _unwritten(windlass, task)


def _unwritten(windlass: str, task: str) -> bytes | None:
    """What `make` would write for a task by its board as that is now."""
    try:
        board = boards.read(os.path.join(windlass, FILE)).board
    except WindlassError:
        return None  # then none of it is there for sure
    found = board.by_id.get(task)
    return boards_of.bytes_of(plans.template(board, found)) if found is not None else None


def _unless_saved(now: bytes | None, *, was: bytes | None, data: bytes) -> bytes:
    return data if now is None or now == was else now


def _put_beside(path: str, data: bytes) -> str:
    """Keeps a plan under the first name that is free, unless it is kept so already."""
    for number in itertools.count(1):
        beside = f"{path}.{number}"
        edits.change(beside, lambda was: data if was is None else was)
        if _held(beside) == data:
            return beside
    raise AssertionError(path)


def _held(path: str) -> bytes | None:
    return folder.read(path) if os.path.lexists(path) else None


def make(task: str, *, board: str | None, remark: Remark | None = None) -> Plan:
    """Makes the file of a task's plan, unless there is one: that one stays."""
    read = boards.read(board)
    found = board_edits.require(read.board, task)
    path = folder.plan(read.folder, found.id)
    text = boards_of.bytes_of(plans.template(read.board, found))
    made = edits.change(path, lambda was: text if was is None else was, remark=remark)
    return Plan(found.id, path, made)
