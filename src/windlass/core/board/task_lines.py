"""The line that a task begins with, and what is wrong with one that only looks like it."""

from __future__ import annotations

import re
from collections.abc import Iterator
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


def faults(line: str) -> list[Fault]:
    """Everything that is wrong with a line that looks like a task's."""
    found = _LIKE.fullmatch(line)
    if found is None:
        raise ValueError(line)
    named = _NAMED.match(found["rest"])
    name = named["id"] if named else ""
    known = name if ID.fullmatch(name) else ""
    said = [*_box_faults(found, known), *_id_faults(found["rest"])]
    if said:
        return said
    marker = found["box"][1:-1]
    return [
        Fault(
            "form",
            "the blanks of this task's line are not those of a task",
            f"write `- [{marker}] **[{name}]** title`",
            known,
        )
    ]


def _box_faults(found: re.Match[str], known: str) -> Iterator[Fault]:
    """What is wrong with what stands before the id."""
    if found["bullet"] != "-":
        yield Fault(
            "form", f"a task that begins with {found['bullet']!r}", "begin it with `- [ ]`", known
        )
    if not found["box"]:
        if found["bullet"] == "-":
            yield Fault("form", "a task without a box", "write `- [ ]` before its id", known)
        return
    marker = found["box"][1:-1]
    if marker not in MARKERS:
        boxes = " ".join(f"[{letter}]" for letter in MARKERS)
        near = " (small x)" if marker == "X" else ""
        yield Fault("marker", f"unknown marker [{marker}]", f"use one of {boxes}{near}", known)


def _id_faults(rest: str) -> Iterator[Fault]:
    """What is wrong with the id, and what follows it."""
    named = _NAMED.match(rest)
    if named is None:
        bare = _ANY_NAME.match(rest)
        if bare:
            yield Fault(
                "id",
                f"bad id: {bare['id']} is not written as **[{bare['id']}]**",
                "write the id in bold and brackets",
                bare["id"] if ID.fullmatch(bare["id"]) else "",
            )
        else:
            yield Fault("id", "a task without an id", "write one: - [ ] **[TASK-001]** title", "")
        return
    name = named["id"]
    if not ID.fullmatch(name):
        yield Fault(
            "id",
            f"bad id {name!r}",
            "use 2 to 10 letters, a hyphen and 1 to 4 digits, as in TASK-001",
            "",
        )
    elif named["after"].strip():
        yield Fault("form", f"no blank after **[{name}]**", "put one before the title", name)
