"""Plans as files: `.windlass/plans/TASK.md`."""

from __future__ import annotations

import os
from typing import NamedTuple

from windlass.core.board import board as boards_of
from windlass.core.board import edits as board_edits
from windlass.core.board import plans
from windlass.core.errors import ConfigError
from windlass.project import boards, edits


class Plan(NamedTuple):
    """A plan, and whether it was made just now."""

    task: str
    path: str
    made: bool


def make(task: str, *, board: str | None) -> Plan:
    """Makes the file of a task's plan, unless there is one: that one stays."""
    read = boards.read(board)
    found = board_edits.require(read.board, task)
    path = os.path.join(read.folder, "plans", f"{found.id}.md")
    for folder in (read.folder, os.path.dirname(path)):
        if os.path.islink(folder):
            raise ConfigError(
                f"{folder} is a symbolic link, and nothing is written through links",
                "put a folder in its place",
            )
    text = boards_of.bytes_of(plans.template(read.board, found))
    return Plan(found.id, path, edits.change(path, lambda was: text if was is None else was))
