"""Whether a board that is about to be written says what it said, and what is new, and no more.

An edit knows lines; what a line means depends on what stands above it. So the text is read once
more before it takes the old one's place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from windlass.core.board import parser
from windlass.core.board.board import Board
from windlass.core.board.tasks import Problem, Task
from windlass.core.errors import ConfigError


def require(was: Board, text: str, changed: Mapping[str, Task], *, line: int = 1) -> str:
    """Gives back the text, in which these tasks are new or other ones, and all else is as it was.

    `line` is where the edit begins, for an error about which the board has nothing to say.
    """
    now = parser.parse(text)
    meant = {task.id: _said(task) for task in (*was.tasks, *changed.values())}
    if {task.id: _said(task) for task in now.tasks} == meant and now.done == was.done:
        return text
    found = _reason(was) or Problem(
        line, "", "what would be written here is read as something else", "look at what it is in"
    )
    raise ConfigError(f"line {found.line}: {found.what}; nothing was written", found.remedy)


def _reason(board: Board) -> Problem | None:
    return next((problem for problem in board.problems if problem.kind == "unclosed"), None)


def require_text(board: Board) -> None:
    """Refuses to write into what is no UTF-8: what is added would be in another encoding."""
    for problem in board.problems:
        if problem.kind == "encoding":
            raise ConfigError(
                f"line {problem.line}: {problem.what}; nothing was written", problem.remedy
            )


def _said(task: Task) -> tuple[Any, ...]:
    fields = {name: (field.value, field.items) for name, field in task.fields.items()}
    return task.marker, task.title, fields, task.dependencies
