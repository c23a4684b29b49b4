"""The checklist of a task: what its scope and its criteria name, and what of that is ticked.

Who works on a task ticks by repeating a line in what it says last, as `- [x] …`.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from windlass.core.runs.task_copy import TaskCopy

_TICKED = re.compile(r"^[ \t]*[-*] \[[xX]\] (.+)$", re.MULTILINE)
_OPEN = re.compile(r"^- \[ \] (.+)$", re.MULTILINE)


def ticked(task: TaskCopy, said: str, before: Collection[str] = ()) -> tuple[str, ...]:
    """The entries that are ticked by now, in the order of the task."""
    found = {_plain(entry) for entry in _TICKED.findall(said)} | {*map(_plain, before)}
    return tuple(entry for entry in _entries(task) if _plain(entry) in found)


def is_complete(task: TaskCopy, ticks: Collection[str]) -> bool:
    """Whether all of it is ticked; a task without a checklist says nothing about that."""
    entries = _entries(task)
    return bool(entries) and {*map(_plain, entries)} <= {*map(_plain, ticks)}


def marked(document: str, ticks: Collection[str]) -> str:
    """The document of a task, with its ticks."""
    known = {*map(_plain, ticks)}

    def mark(line: re.Match[str]) -> str:
        return f"- [x] {line[1]}" if _plain(line[1]) in known else line[0]

    return _OPEN.sub(mark, document)


def _entries(task: TaskCopy) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*task.scope, *task.criteria)))


def _plain(entry: str) -> str:
    return " ".join(entry.split())
