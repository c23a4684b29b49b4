"""A second reading of the board's rules: slow, obvious, and written from their text alone."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any, NamedTuple


class Item(NamedTuple):
    """A task as this reading sees it."""

    id: str
    marker: str
    priority: str
    needs: list[str]


def read(text: str) -> tuple[list[Item], set[str]]:
    """The tasks of a board that has no mistakes, and the ids that its comments name."""
    done: set[str] = set()
    for listed in re.findall(r"<!-- done: (.*?) -->", text):
        done |= set(listed.split(", "))
    items = []
    inside = False
    for line in text.splitlines():
        if line == "## TASKS":
            inside = True
        elif line.startswith("## "):
            inside = False
        elif inside and (begun := re.match(r"- \[(.)\] \*\*\[(.*?)\]\*\* ", line)):
            items.append(Item(begun[2], begun[1], "", []))
        elif inside and line.startswith("  - Priority: "):
            items[-1] = items[-1]._replace(priority=line[14:])
        elif inside and line.startswith("  - Dependencies: "):
            said = line[18:]
            items[-1] = items[-1]._replace(needs=[] if said == "none" else said.split(", "))
    return items, done


def depends(items: dict[str, Item], one: str, other: str, seen: frozenset[str]) -> bool:
    """Whether one task depends on another, through whatever others."""
    for need in items[one].needs:
        if need == other:
            return True
        if need in items and need not in seen and depends(items, need, other, seen | {need}):
            return True
    return False


def ranks(text: str, waits: dict[str, int], plans: set[str]) -> list[dict[str, Any]]:
    """Every pending task with its terms: the ready ones first, each part by priority."""
    listed, done = read(text)
    items = {item.id: item for item in listed}
    complete = {item.id for item in listed if item.marker == "x"} | done
    found = []
    for item in listed:
        if item.marker != " " or item.id in done:
            continue
        n = sum(
            other.id != item.id
            and other.id.split("-")[0] == item.id.split("-")[0]
            and other.marker in "=P*"
            and other.id not in done
            for other in listed
        )
        d = sum(
            other.id != item.id
            and other.marker in " =P*"
            and other.id not in done
            and depends(items, other.id, item.id, frozenset())
            for other in listed
        )
        base = {"CRITICAL": 0, "HIGH": 10000, "MEDIUM": 20000, "LOW": 30000}[item.priority]
        aging = math.floor(Fraction(waits.get(item.id, 0) * 8000, 7))
        root = 0
        while (root + 1) * (root + 1) <= n * 20000 * 20000:
            root += 1
            if (root + 5000) * (root + 5000) <= n * 20000 * 20000:
                root += 4999
        plan = item.id in plans
        value = max(0, max(0, base - aging) + root - 15000 * int(plan) - 7000 * d)
        blocked = [need for need in item.needs if need not in complete]
        found.append(
            {
                "id": item.id,
                "effective": value,
                "base": base,
                "plan": plan,
                "aging": aging,
                "dependents": d,
                "siblings": n,
                "ready": not blocked,
                "blocked_by": blocked,
            }
        )
    return sorted(found, key=lambda entry: (not entry["ready"], entry["effective"]))
