"""The board: its lines as they are in the file, the tasks in them, and what is wrong with them.

Lossless: a board is written as the lines that it was read from, so each byte that nobody changed
stays. Bytes that are no UTF-8 stay too, and are a problem.
"""

from __future__ import annotations

import re
from functools import cached_property

import msgspec

from windlass.core.board.graph import Graph
from windlass.core.board.tasks import Problem, Task

BOM = "\ufeff"


def text_of(data: bytes) -> str:
    """The text that bytes hold; `bytes_of` gives the same bytes back, whatever they are."""
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """The bytes of a text."""
    return text.encode("utf-8", "surrogateescape")


class Board(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A board as it was read."""

    lines: tuple[str, ...]
    """Without the line feed between them; what stands before it (a carriage return) is kept."""
    tasks: tuple[Task, ...]
    """In their order; of several with one id, the first alone."""
    done: frozenset[str]
    """Ids that comments name as finished."""
    unread: tuple[Task, ...]
    """What only looks like a task, or has another one's id: judged, and never worked on."""
    end: int | None
    """The number of lines down to the end of the section of tasks; None where there is none."""
    problems: tuple[Problem, ...]

    @property
    def text(self) -> str:
        """The whole file."""
        return "\n".join(self.lines)

    @cached_property
    def by_id(self) -> dict[str, Task]:
        """The tasks by their ids."""
        return {task.id: task for task in self.tasks}

    @cached_property
    def broken(self) -> frozenset[str]:
        """Ids whose own line has a problem, so that nobody else has to complain of them."""
        return frozenset({task.id for task in self.unread} - {*self.by_id, ""})

    @cached_property
    def _folded(self) -> dict[str, str]:
        return {task.id.lower(): task.id for task in reversed(self.tasks)}

    def near(self, name: str) -> str:
        """The id that differs from a name by small and capital letters alone; or nothing."""
        return self._folded.get(name.lower(), "")

    @cached_property
    def graph(self) -> Graph:
        """Who waits for whom."""
        return Graph({task.id: task.dependencies for task in self.tasks})

    def finished(self, task: Task) -> bool:
        """Whether a task counts as complete: by its marker, or because a comment names it."""
        return task.marker == "x" or task.id in self.done

    @property
    def errors(self) -> list[Problem]:
        """The problems that are more than a warning."""
        return [problem for problem in self.problems if problem.level == "error"]


_DONE = re.compile(r"<!--[ \t\r\n]*done[ \t\r\n]*:", re.IGNORECASE)
_BETWEEN = re.compile(r"[,\s]+")


def done_ids(text: str) -> frozenset[str]:
    """The ids that `<!-- done: A-1, B-2 -->` comments name."""
    found: set[str] = set()
    start = 0
    while comment := _DONE.search(text, start):
        end = text.find("-->", comment.end())
        if end < 0:
            break
        found.update(name for name in _BETWEEN.split(text[comment.end() : end]) if name)
        start = end
    return frozenset(found)
