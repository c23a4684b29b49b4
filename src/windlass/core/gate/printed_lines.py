"""What a test run printed, as lines that patterns can be held against.

Pure. Colours and cursor moves are gone, a line that was written over is several lines, and what
tools that run several packages at once put before each line (`web:test: `, `packages/a test: `)
tells the packages apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from windlass.core.printable import without_escapes

CUT_LINE = "[windlass: output cut here]"
"""Stands for what was left out of the middle: a run that began before it may have ended in it."""
LONGEST_TEXT = 4 * 1024 * 1024
MOST_LINES = 100_000
"""Every line is held against every runner's patterns: this many take about a second."""
_LONGEST_LINE = 1_000
_MOST_STREAMS = 100
_OVERWRITING = re.compile(r"\r\n?|\x1b\[[0-9]{0,4}G")
_PACKAGE = re.compile(r"[@.a-z0-9_][@./a-z0-9_-]*")
_TASK = re.compile(r"[a-z0-9_.:-]*")
_SCOPED = re.compile(r"@[a-z0-9_.-]+/[a-z0-9_.-]+")
_LONGEST_PREFIX = 120
_NO_PACKAGES = frozenset({"error", "not", "ok", "test", "warning"})
"""Words that runners themselves begin lines with."""


def streams(text: str) -> list[list[str]]:
    """The lines of each package that was run; all of them in one list if nothing tells them apart.

    Only the last few MiB and lines are read, and of each line its beginning.
    """
    found: dict[str, list[str]] = {"": []}
    for line in _lines(text[-LONGEST_TEXT:]):
        prefix = _prefix(line)
        if prefix not in found and len(found) >= _MOST_STREAMS:
            prefix = ""
        found.setdefault(prefix, []).append(line[len(prefix) :].rstrip())
    return list(found.values())


def _lines(text: str) -> Iterator[str]:
    text = without_escapes(_OVERWRITING.sub("\n", text))
    for line in text.rsplit("\n", MOST_LINES)[-MOST_LINES:]:
        yield line[:_LONGEST_LINE]


def _prefix(line: str) -> str:
    """What a tool that runs several packages put before a line: the package, mostly the task."""
    end = line.find(": ", 0, _LONGEST_PREFIX)
    head = line[:end] if end > 0 else ""
    if not head:
        return ""
    for separator in " ", ":", "#":
        package, _, task = head.partition(separator)
        if "test" not in task or package in _NO_PACKAGES:
            continue
        if _PACKAGE.fullmatch(package) and _TASK.fullmatch(task):
            return line[: end + 2]
    return line[: end + 2] if _SCOPED.fullmatch(head) else ""
