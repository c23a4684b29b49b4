"""A board of the ancestor's, as it counts here: its heading, and what nobody works on any more."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from windlass.core.board import FILE, checks, parser
from windlass.core.board import board as boards
from windlass.core.board.task_lines import TASK
from windlass.core.migration.findings import Branch, Findings

_SECTION = re.compile(r"##(?=[ \t]|$)")
_MOST = 20
_BOX = 3


def take(found: Findings, held: bytes, source: str, *, branches: dict[str, list[str]]) -> None:
    """Takes a board over: below a heading, and with markers of tasks that somebody works on."""
    lines = boards.text_of(held).split("\n")
    lines = _with_heading(found, lines, source)
    lines = _at_rest(found, lines, branches)
    text = "\n".join(lines)
    found.write(FILE, boards.bytes_of(text), source)
    problems = checks.problems(parser.parse(text))
    for problem in problems[:_MOST]:
        found.leave(f".windlass/{FILE}, line {problem.line}", f"{problem.what}; {problem.remedy}")
    if problems[_MOST:]:
        found.leave(f".windlass/{FILE}", f"{len(problems) - _MOST} more: wl board validate")


def _with_heading(found: Findings, lines: list[str], source: str) -> list[str]:
    """Adds the heading that tasks stand below, where there is none."""
    board = parser.parse("\n".join(lines))
    inside = {task.line for task in board.tasks}
    tasks = [n for n, line in enumerate(lines) if TASK.fullmatch(line.removesuffix("\r"))]
    if board.end is not None:
        outside = [n + 1 for n in tasks if n + 1 not in inside]
        beyond = [n for n in outside if n > board.end or not inside or n < min(inside)]
        if beyond:
            named = ", ".join(map(str, beyond[:_MOST]))
            found.leave(
                f"{source}, line {named}", "tasks outside of ## TASKS are no tasks: move them there"
            )
        return lines
    end = "\r" if sum(line.endswith("\r") for line in lines) * 2 > len(lines) else ""
    if not tasks:
        while lines and not lines[-1].strip():
            lines = lines[:-1]
        between = [end] if lines else []
        found.leave(source, "there was no heading ## TASKS: it is added, and no task is below it")
        return [*lines, *between, f"## {parser.HEADING}{end}", ""]
    at = tasks[0]
    below = [_lower(line) for line in lines[at:]]
    lowered = sum(was != now for was, now in zip(lines[at:], below, strict=True))
    said = f", and {lowered} headings below it are one level lower" if lowered else ""
    found.leave(source, f"there was no heading ## TASKS: it is added{said}")
    return [*lines[:at], f"## {parser.HEADING}{end}", end, *below]


def _lower(line: str) -> str:
    """A heading of the level that would end the tasks, one level lower."""
    return f"#{line}" if _SECTION.match(line) else line


def _at_rest(found: Findings, lines: list[str], branches: dict[str, list[str]]) -> list[str]:
    """Resets what was under way: no run of it lives here. What waits for approval is offered."""
    lines = list(lines)
    for task in parser.parse("\n".join(lines)).tasks:
        if task.marker not in "=P":
            continue
        own = branches.get(task.id, [])
        found.branches += [Branch(task.id, branch, task.marker) for branch in own]
        if task.marker == "P" and own:
            continue
        line = lines[task.line - 1]
        lines[task.line - 1] = f"{line[:_BOX]} {line[_BOX + 1 :]}"
        why = "no run of it is here: it is [ ] again"
        if own:
            why = f"it is [ ] again; what was done is on {', '.join(own)}"
        found.leave(f".windlass/{FILE}, line {task.line}: {task.id} [{task.marker}]", why)
    return lines


def branches_of(task: str, names: Collection[str], workers: Mapping[str, str]) -> list[str]:
    """The branches that a task's work is on, by their names and by those of its workers."""
    own = re.compile(rf"(?<![A-Za-z0-9]){re.escape(task)}(?![A-Za-z0-9])", re.IGNORECASE)
    found = [branch for worker, branch in workers.items() if branch and own.search(worker)]
    return list(dict.fromkeys([*found, *(name for name in names if own.search(name))]))
