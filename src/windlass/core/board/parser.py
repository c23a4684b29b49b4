"""Reads a board: finds its tasks and their fields, and says of each line that is none why.

Only what stands below `## TASKS` is read. What two tasks have to do with each other (unknown
dependencies, cycles) is `checks`'.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from windlass.core.board import fields
from windlass.core.board.blocks import Blocks
from windlass.core.board.board import BOM, Board, done_ids
from windlass.core.board.task_lines import INDENTED_TASK, TASK, faults, like_task
from windlass.core.board.tasks import Problem, Task

HEADING = "TASKS"
_LOWEST_HEADING = 6
_NO_TEXT = re.compile("[\udc80-\udcff]")
_MOST_UNREADABLE = 5


def parse(text: str) -> Board:
    """Reads a whole board; whatever it is, it comes back, with what is wrong with it."""
    reader = _Reader()
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        reader.read(line.removesuffix("\r"), number)
    return reader.board(lines)


def _heading_of(line: str) -> tuple[int, str] | None:
    """A heading's level and title, without the hashes that may close it."""
    bare = line.strip(" \t")
    said = bare.lstrip("#")
    level = len(bare) - len(said)
    if level > _LOWEST_HEADING or said[:1] not in ("", " ", "\t"):
        return None
    title = said.strip()
    above = title.rstrip("#")
    return level, above.rstrip() if above[-1:] in (" ", "\t") else title


class _Reader:
    """Goes down the lines of a board once."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._tasks: list[fields.TaskLines] = []
        self._task: fields.TaskLines | None = None
        self._blocks = Blocks()
        self._code: list[int] = []
        self._section = False
        self._sections = 0
        self._end: int | None = None
        self._group = 0
        self._unreadable: list[tuple[int, str, str]] = []
        self._near: tuple[int, str] | None = None
        """A heading that was perhaps meant to be that of the tasks."""

    def read(self, line: str, number: int) -> None:
        """Takes the next line, without its end."""
        if number == 1:
            line = line.removeprefix(BOM)
        if not line.isascii() and _NO_TEXT.search(line):
            self._unreadable.append((number, "this is no UTF-8 text", "save the file as UTF-8"))
        elif "\0" in line:
            remedy = "take it out, or save it anew"
            self._unreadable.append((number, "a zero byte: this is no text", remedy))
        if self._blocks.hides(line, number):
            if self._blocks.in_fence:
                self._code.append(number)
            if self._task is not None:
                if line[:1] in (" ", "\t"):
                    self._task.more(number)
                else:
                    self._close()
            return
        if line[:4].lstrip(" ")[:1] == "#" and self._heading(line, number):
            return
        if self._section:
            self._in_section(line, number)

    def _heading(self, line: str, number: int) -> bool:
        heading = _heading_of(line)
        if heading is None:
            return False
        level, title = heading
        if level == 2:
            if self._section:
                self._end = number - 1
            self._section = title == HEADING
            if self._section:
                self._sections += 1
                self._end = None
                if self._sections > 1:
                    self._error(
                        number,
                        "heading",
                        f"a second heading ## {HEADING}",
                        "put all tasks below the first one",
                    )
        if title.upper().strip(":") == HEADING and not (level == 2 and title == HEADING):
            self._near = self._near or (number, line.strip())
        self._close()
        return True

    def _in_section(self, line: str, number: int) -> None:
        if not line.strip():
            return
        if line[0] in " \t":
            self._indented(line, number)
            return
        if task := TASK.fullmatch(line):
            self._begin(number, name=task[2], marker=task[1], title=(task[3] or "").strip())
            return
        if like_task(line):
            found = faults(line)
            for fault in found:
                self._error(number, fault.kind, fault.what, fault.remedy)
            name = max(fault.id for fault in found)
            self._begin(number, name=name, marker=" ", title="", broken=True)
            return
        self._close()

    def _begin(
        self, number: int, *, name: str, marker: str, title: str, broken: bool = False
    ) -> None:
        if self._task is None:
            self._group += 1
        self._task = fields.TaskLines(
            fields.Start(name, marker, title, number, self._group, broken)
        )
        self._tasks.append(self._task)
        if not title and not broken:
            self._task.error(number, "title", f"{name} has no title", "write what is to be done")

    def _indented(self, line: str, number: int) -> None:
        if self._task is not None and (self._task.has_field or not INDENTED_TASK.match(line)):
            if INDENTED_TASK.match(line) and fields.indent_of(line) < fields.ITEM:
                self._indented_task(number)
                return
            self._task.take(line, number)
        elif INDENTED_TASK.match(line):
            self._indented_task(number)
        elif name := fields.named(line):
            self._error(
                number, "indentation", f"{name} stands below no task", "put it below its task"
            )

    def _indented_task(self, number: int) -> None:
        self._error(
            number,
            "indentation",
            "bad indentation: a task is indented",
            "begin its line with `- [ ] **[ID]** title`, without a blank before it",
        )

    def _close(self) -> None:
        self._task = None

    def _error(self, line: int, kind: str, what: str, remedy: str) -> None:
        self.problems.append(Problem(line, kind, what, remedy))

    def board(self, lines: Sequence[str]) -> Board:
        """What was read."""
        if problem := self._blocks.problem():
            self.problems.append(problem)
        self._no_text()
        if not self._sections:
            self._no_heading()
        elif self._end is None:
            self._end = len(lines)
        tasks: dict[str, Task] = {}
        unread: list[Task] = []
        for read in self._tasks:
            task, problems = read.task(tasks.get(read.start.id))
            self.problems += problems
            if read.start.broken or task.id in tasks:
                unread.append(task)
            else:
                tasks[task.id] = task
        code = set(self._code)
        text = "\n".join("" if n in code else line for n, line in enumerate(lines, start=1))
        return Board(
            lines=tuple(lines),
            tasks=tuple(tasks.values()),
            done=done_ids(text),
            unread=tuple(unread),
            end=self._end,
            problems=tuple(sorted(self.problems, key=lambda problem: problem.line)),
        )

    def _no_text(self) -> None:
        """Names the lines that are no text: of a binary file not all of its thousands."""
        for number, what, remedy in self._unreadable[:_MOST_UNREADABLE]:
            self._error(number, "encoding", what, remedy)
        if more := self._unreadable[_MOST_UNREADABLE:]:
            what = f"{len(more)} more lines from here on are no text"
            self._error(more[0][0], "encoding", what, "is this a board at all? save it as UTF-8")

    def _no_heading(self) -> None:
        line, written = self._near or (1, "")
        what = f"there is no heading ## {HEADING}"
        if written:
            self._error(line, "heading", f"{what}, only {written!r}", f"write it as ## {HEADING}")
        else:
            self._error(line, "heading", what, f"write a line ## {HEADING} above the tasks")
