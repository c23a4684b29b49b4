"""The lines below a task: its fields, their lists, and what is wrong with either."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import NamedTuple

import msgspec

from windlass.core.board.tasks import (
    FIELDS,
    NO_DEPENDENCIES,
    PRIORITIES,
    REQUIRED,
    Field,
    Problem,
    Task,
)

ITEM = 4
"""Blanks before an item of a field's list."""
_FIELD = 2
_FIELD_BEGINS = "  - "
_BULLET = re.compile(r"[ \t]*[-*+](?:[ \t]|$)")
_BOX = re.compile(r"[ \t]*[-*+][ \t]+\[[^\]]?\](?:[ \t]|$)")
_NAMED = re.compile(rf"[ \t]*(?:[-*+][ \t]+)?[*_]{{0,2}}({'|'.join(FIELDS)})[*_]{{0,2}}[ \t]*:")


def indent_of(line: str) -> int:
    """How far a line is indented; a tab goes to the next fourth place."""
    blank = line[: len(line) - len(line.lstrip(" \t"))]
    return len(blank.expandtabs(4))


def named(line: str) -> str:
    """The known field that a line is about, however it is written; or nothing."""
    found = _NAMED.match(line)
    return found[1] if found else ""


def _field_of(line: str) -> tuple[str, str] | None:
    """The name and the value of a line that is written as a field."""
    if not line.startswith(_FIELD_BEGINS):
        return None
    name, colon, value = line.removeprefix(_FIELD_BEGINS).partition(":")
    begins = name[:1]
    if not colon or not (begins.isascii() and begins.isalpha()) or value[:1] not in ("", " ", "\t"):
        return None
    return name.rstrip(" \t"), value.strip()


class _Said(msgspec.Struct):
    """A field while its lines are read."""

    name: str
    value: str
    line: int
    items: list[str]


class Start(NamedTuple):
    """What a task's first line says."""

    id: str
    marker: str
    title: str
    line: int
    group: int
    broken: bool
    """Whether it only looks like a task's."""


class TaskLines:
    """A task while its lines are read."""

    def __init__(self, start: Start) -> None:
        self.start = start
        self._last = start.line
        self._fields: dict[str, _Said] = {}
        self._said: _Said | None = None
        self._misplaced: dict[str, tuple[int, str]] = {}
        self._problems: list[Problem] = []

    @property
    def has_field(self) -> bool:
        """Whether a field stands above, so that a list may follow."""
        return self._said is not None

    def error(self, line: int, kind: str, what: str, remedy: str) -> None:
        """Notes what is wrong with it."""
        self._problems.append(Problem(line, kind, what, remedy))

    def _warn(self, line: int, kind: str, what: str, remedy: str) -> None:
        self._problems.append(Problem(line, kind, what, remedy, "warning"))

    def more(self, line: int) -> None:
        """Takes a line that only belongs to it."""
        self._last = line

    def take(self, line: str, number: int) -> None:
        """Takes an indented line that is not blank."""
        self._last = number
        if field := _field_of(line):
            self._field(*field, number)
            return
        indent, blanks = indent_of(line), line[: len(line) - len(line.lstrip())]
        name, bullet = named(line), _BULLET.match(line) is not None
        if self._said is not None and indent >= ITEM and "\t" not in blanks:
            self._said.items.append(line.strip())
            if name and name not in self._fields:
                self._misplaced.setdefault(name, (number, _depth(blanks)))
        elif "\t" in blanks and (bullet or name):
            self._indentation(name, number, "a tab")
        elif name and not (indent == _FIELD and bullet):
            self._indentation(name, number, _depth(blanks))
        elif name:
            self._form(name, number)
        elif bullet and indent == _FIELD:
            self._loose(line, number)
        elif bullet:
            self._indentation("", number, _depth(blanks))
        elif self._said is not None:
            self._said.items.append(line.strip())

    def _field(self, name: str, value: str, number: int) -> None:
        self._said = said = _Said(name, value, number, [])
        if name in self._fields:
            first = self._fields[name].line
            self.error(
                number, "field", f"{name} for a second time (line {first})", "keep one of them"
            )
            return
        self._fields[name] = said
        if name not in FIELDS:
            near = get_close_matches(name, FIELDS, n=1)
            remedy = f"did you mean {near[0]}?" if near else "it is kept, and means nothing"
            self._warn(number, "unknown-field", f"unknown field {name!r}", remedy)

    def _indentation(self, name: str, number: int, how: str) -> None:
        what = f"{name} is indented by {how}" if name else f"a list is indented by {how}"
        self.error(
            number,
            "indentation",
            f"bad indentation: {what}",
            "indent fields by two blanks and the items below them by four",
        )
        if name:
            self._misplaced[name] = (0, "")

    def _form(self, name: str, number: int) -> None:
        self.error(number, "field", f"{name} is not written as a field", f"write `  - {name}: …`")
        self._misplaced[name] = (0, "")

    def _loose(self, line: str, number: int) -> None:
        what = "a box" if _BOX.match(line) else "an item"
        self._warn(
            number,
            "item",
            f"{what} in no field's list",
            "indent it by four blanks below a field, or write `  - Name: …`",
        )

    def task(self, first: Task | None) -> tuple[Task, list[Problem]]:
        """The task and its problems; `first` is the one that has its id already."""
        if first is not None and not self.start.broken:
            what = f"duplicate id {self.start.id}: line {first.line} has it too"
            self.error(self.start.line, "duplicate", what, "give one of them another id")
        if self._fields or not self.start.broken:
            self._missing()
        self._priority()
        dependencies = self._dependencies()
        sound = all(problem.level == "warning" for problem in self._problems)
        fields = {
            said.name: Field(said.name, said.value, said.line, tuple(said.items))
            for said in self._fields.values()
        }
        return Task(
            id=self.start.id,
            marker=self.start.marker,
            title=self.start.title,
            line=self.start.line,
            last=self._last,
            group=self.start.group,
            fields=fields,
            dependencies=dependencies,
            sound=sound,
        ), self._problems

    def _missing(self) -> None:
        for name in REQUIRED:
            if name in self._fields:
                continue
            line, how = self._misplaced.get(name, (self.start.line, None))
            if how is None:
                choice = "|".join(PRIORITIES) if name == "Priority" else "none, or ids"
                what = f"{self.start.id or 'this task'} has no {name}"
                self.error(line, "missing", what, f"add `  - {name}: {choice}`")
            elif how:
                self._indentation(name, line, how)

    def _priority(self) -> None:
        said = self._fields.get("Priority")
        if said is None or said.value in PRIORITIES:
            return
        given = f"bad priority {said.value!r}" if said.value else "Priority is empty"
        self.error(said.line, "priority", given, f"use one of {', '.join(PRIORITIES)}")

    def _dependencies(self) -> tuple[str, ...]:
        said = self._fields.get("Dependencies")
        if said is None or said.value.lower() == NO_DEPENDENCIES:
            return ()
        remedy = "write none, or ids with commas between them"
        if not said.value:
            self.error(said.line, "dependencies", "Dependencies is empty", remedy)
            return ()
        names = [name.strip() for name in said.value.split(",")]
        if "" in names:
            self._warn(said.line, "dependencies", "a comma with no id beside it", "take it out")
        given = [name for name in names if name]
        bad = [name for name in given if len(name.split()) > 1 or name.lower() == NO_DEPENDENCIES]
        for name in bad:
            self.error(said.line, "dependencies", f"bad dependency {name!r}", remedy)
        unique = tuple(name for name in dict.fromkeys(given) if name not in bad)
        if len(unique) < len(given) - len(bad):
            self._warn(said.line, "dependencies", "a dependency is named twice", "take one out")
        return unique


def _depth(blanks: str) -> str:
    count = len(blanks)
    return f"{count} blank{'' if count == 1 else 's'}"
