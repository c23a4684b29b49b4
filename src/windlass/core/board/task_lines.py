"""The line that a task begins with, and what is wrong with one that only looks like it."""

from __future__ import annotations

import re
from typing import NamedTuple

from windlass.core.board.tasks import ID, MARKERS

TASK = re.compile(r"- \[([ =Px*N])\] \*\*\[([A-Za-z]{2,10}-[0-9]{1,4})\]\*\*(?:[ \t]+(.*))?")
"""A task's line: its marker, its id, its title."""
INDENTED_TASK = re.compile(r"[ \t]+[-*+][ \t]+\[[^\]]?\][ \t]*\*\*\[")
"""What would be a task at the beginning of its line."""
_LIKE = re.compile(
    r"(?P<bullet>[-*+]|[0-9]+[.)])[ \t]*"
    r"(?P<box>\[[^\]]{0,2}\](?=[ \t*]|$))?[ \t]*(?P<rest>.*)"
)
_NAMED = re.compile(r"\*\*\[(?P<id>[^\]]*)\]\*\*(?P<after>.?)")
_ANY_NAME = re.compile(r"(?:\*\*|__|\*)?\[?(?P<id>[A-Za-z]+-[0-9]+)\b\]?")


class Fault(NamedTuple):
    """Why a line is no task's, though it looks like one."""

    kind: str
    what: str
    remedy: str
    id: str
    """The id that it has nevertheless, or nothing."""


def like_task(line: str) -> bool:
    """Whether somebody meant a task by a line that is none."""
    found = _LIKE.fullmatch(line)
    return found is not None and (bool(found["box"]) or found["rest"].startswith("**["))


def fault(line: str) -> Fault:
    """What is wrong with a line that looks like a task's."""
    found = _LIKE.fullmatch(line)
    if found is None:
        raise ValueError(line)
    named = _NAMED.match(found["rest"])
    name = named["id"] if named else ""
    known = name if ID.fullmatch(name) else ""
    if found["bullet"] != "-":
        return Fault(
            "form", f"a task that begins with {found['bullet']!r}", "begin it with `- [ ]`", known
        )
    if not found["box"]:
        return Fault("form", "a task without a box", "write `- [ ]` before its id", known)
    marker = found["box"][1:-1]
    if marker not in MARKERS:
        boxes = " ".join(f"[{letter}]" for letter in MARKERS)
        near = " (small x)" if marker == "X" else ""
        return Fault("marker", f"unknown marker [{marker}]", f"use one of {boxes}{near}", known)
    if named is None:
        bare = _ANY_NAME.match(found["rest"])
        if bare:
            return Fault(
                "id",
                f"bad id: {bare['id']} is not written as **[{bare['id']}]**",
                "write the id in bold and brackets",
                bare["id"] if ID.fullmatch(bare["id"]) else "",
            )
        return Fault("id", "a task without an id", "write one: - [ ] **[TASK-001]** title", "")
    if not known:
        return Fault(
            "id",
            f"bad id {name!r}",
            "use 2 to 10 letters, a hyphen and 1 to 4 digits, as in TASK-001",
            "",
        )
    if named["after"].strip():
        return Fault("form", f"no blank after **[{name}]**", "put one before the title", known)
    return Fault(
        "form",
        "the blanks of this task's line are not those of a task",
        f"write `- [{marker}] **[{name}]** title`",
        known,
    )
