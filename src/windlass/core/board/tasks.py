"""Tasks: what one line of the board and the fields below it say."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

import msgspec

MARKERS: dict[str, str] = {
    " ": "pending",
    "=": "in progress",
    "P": "pending approval",
    "x": "complete",
    "*": "failed",
    "N": "not planned",
}
"""What stands in a task's box, and what it means."""
PENDING, COMPLETE, NOT_PLANNED = " ", "x", "N"
UNFINISHED = frozenset(" =P*")
"""Tasks that wait for others, and count for those they wait for."""
UNDER_WAY = frozenset("=P*")
"""Tasks that make others of their prefix wait."""
PRIORITIES = {"CRITICAL": 0, "HIGH": 10_000, "MEDIUM": 20_000, "LOW": 30_000}
"""What a task can be worth, lowest first, in fixed point: 10,000 is one."""

ID = re.compile(r"[A-Za-z]{2,10}-[0-9]{1,4}")
REQUIRED = ("Priority", "Dependencies")
OPTIONAL = (
    "Description",
    "Complexity",
    "Agent",
    "Pipeline",
    "Scope",
    "Out of Scope",
    "Acceptance Criteria",
)
LISTS = ("Scope", "Out of Scope", "Acceptance Criteria")
"""The fields that are lists."""
FIELDS = (*REQUIRED, *OPTIONAL)
"""The fields of a task that mean something; others are kept as they are."""
NO_DEPENDENCIES = "none"


class Field(msgspec.Struct, frozen=True):
    """What a task says by one of its fields."""

    name: str
    value: str
    """What follows the colon."""
    line: int
    items: tuple[str, ...] = ()
    """The lines of its list, and text that goes on below it."""


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One task, and where in the file it stands."""

    id: str
    marker: str
    title: str
    line: int
    """The line that it begins at, counted from 1."""
    last: int
    """The last line that belongs to it."""
    group: int
    """Which run of tasks it is in: nothing but tasks stands between those of one group."""
    fields: dict[str, Field]
    dependencies: tuple[str, ...] = ()
    sound: bool = True
    """Whether it says all that a task has to, and its id is nobody else's."""

    @property
    def priority(self) -> str:
        """Its priority, or nothing where that is missing or wrong."""
        field = self.fields.get("Priority")
        return field.value if field and field.value in PRIORITIES else ""

    @property
    def prefix(self) -> str:
        """What its id begins with."""
        return self.id.rpartition("-")[0]


class Problem(NamedTuple):
    """Something that is wrong with a file, and what would mend it."""

    line: int
    kind: str
    what: str
    remedy: str
    level: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        """One line for people."""
        warning = "warning: " if self.level == "warning" else ""
        return f"line {self.line}: {warning}{self.what}; {self.remedy}"
