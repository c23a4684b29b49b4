"""Plans as files: `.windlass/plans/TASK.md`."""

from __future__ import annotations

from typing import NamedTuple

from windlass.core.board import board as boards_of
from windlass.core.board import edits as board_edits
from windlass.core.board import plans
from windlass.project import boards, edits, folder
from windlass.project.folder_lock import Remark


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


def make(task: str, *, board: str | None, remark: Remark | None = None) -> Plan:
    """Makes the file of a task's plan, unless there is one: that one stays."""
    read = boards.read(board)
    found = board_edits.require(read.board, task)
    path = folder.plan(read.folder, found.id)
    text = boards_of.bytes_of(plans.template(read.board, found))
    made = edits.change(path, lambda was: text if was is None else was, remark=remark)
    return Plan(found.id, path, made)
