"""Tasks that would get in each other's way, by the paths that their scopes name. Pure.

A scope is written for people, so what looks like a path in it counts, and nothing else. Who
collides waits; never for ever, because a scope is only what somebody expected.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

MOST_POSTPONED = 3600.0
"""Seconds for which a task is put off because of others, until it is begun all the same."""
_QUOTED = re.compile(r"`([^`\s]+)`")
_WORD = re.compile(r"[^\s`'\"(),;]+")
_WILD = re.compile(r"[*?\[]")
_A_FILE = re.compile(r"[\w*-][\w.*-]*\.[A-Za-z]\w{0,9}")
_MOST_PATHS = 200


class Collision(NamedTuple):
    """Which other task has what as well."""

    other: str
    path: str

    @property
    def sentence(self) -> str:
        """Why somebody waits."""
        return f"{self.other} works on {self.path}"


def paths(scope: Iterable[str]) -> tuple[str, ...]:
    """The paths that a scope names: what has a slash in it or is called like a file."""
    found: dict[str, None] = {}
    for line in scope:
        quoted = _QUOTED.findall(line)
        for word in quoted or _WORD.findall(line):
            path = word.rstrip(".,:;").removeprefix("./")
            is_path = ("/" in path and "://" not in path) or _A_FILE.fullmatch(path)
            if is_path and not path.startswith(("/", "..", "~", "-")):
                found[path.rstrip("/")] = None
    return tuple(found)[:_MOST_PATHS]


def first(scope: Iterable[str], others: Mapping[str, Iterable[str]]) -> Collision | None:
    """The first of other tasks whose scope has a path of this one's; None where none has."""
    own = paths(scope)
    for name, theirs in others.items():
        for path in paths(theirs) if own else ():
            if common := next((mine for mine in own if overlap(mine, path)), None):
                return Collision(name, common)
    return None


def overlap(one: str, other: str) -> bool:
    """Whether two paths or patterns may mean the same file, or one lies below the other."""
    wild_one, wild_other = bool(_WILD.search(one)), bool(_WILD.search(other))
    if not wild_one and not wild_other:
        return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")
    if wild_one and wild_other:
        fixed_one, fixed_other = _fixed(one), _fixed(other)
        return fixed_one.startswith(fixed_other) or fixed_other.startswith(fixed_one)
    pattern, path = (one, other) if wild_one else (other, one)
    fixed = _fixed(pattern)
    return fnmatchcase(path, pattern) or fixed.startswith(f"{path}/")


def _fixed(pattern: str) -> str:
    """What a pattern begins with, up to its first wild card."""
    found = _WILD.search(pattern)
    return pattern[: found.start()] if found else pattern
