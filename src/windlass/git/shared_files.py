"""Files that have several names: what is found out of one by a name holds by all the others.

A salvage keeps that they are one file, as far as the names are in one part of it. Names cost an
agent next to nothing: who reads a file anew for each of them has no end of it.
"""

from __future__ import annotations

import collections
import os
from typing import TypeAlias

from windlass.core.printable import printable_line
from windlass.git.manifest import Dropped, few

Key: TypeAlias = tuple[int, int, int, int, int]


def key(info: os.stat_result) -> Key | None:
    """What stays the same as long as a file does, by whatever name; None where it has one name."""
    if info.st_nlink < 2:
        return None
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


class SharedNames:
    """Which names of files with several are in which part of a salvage."""

    def __init__(self) -> None:
        self._names: dict[tuple[int, int], dict[str, list[str]]] = {}
        self._counts: dict[tuple[int, int], int] = {}

    def add(self, info: os.stat_result, path: str, *, part: str) -> None:
        """Says that what is at a path is kept in a part."""
        if info.st_nlink < 2:
            return
        file = info.st_dev, info.st_ino
        self._counts[file] = info.st_nlink
        parts = self._names.setdefault(file, collections.defaultdict(list))
        parts[part].append(path)

    def groups(self, part: str) -> list[list[str]]:
        """The names in a part that are one file, where there are several."""
        listed = (parts[part] for parts in self._names.values() if part in parts)
        return [names for names in listed if len(names) > 1]

    def dropped(self) -> list[Dropped]:
        """Lists what does not come back as one file: names in two parts, and names elsewhere."""
        apart = [
            Dropped(
                path=others[0], reason=f"kept, but not as one file with {printable_line(first)}"
            )
            for (first, *_), *rest in (list(parts.values()) for parts in self._names.values())
            for others in rest
        ]
        elsewhere = [
            next(iter(parts.values()))[0]
            for file, parts in self._names.items()
            if self._counts[file] > sum(map(len, parts.values()))
        ]
        return few(apart) + _elsewhere(elsewhere)


def _elsewhere(paths: list[str]) -> list[Dropped]:
    """Lists them as one: what package managers install has such names by the thousand."""
    if not paths:
        return []
    more = f"; and so on with {len(paths) - 1} more" if len(paths) > 1 else ""
    reason = f"kept, but not as one file with others that are outside of this work{more}"
    return [Dropped(path=paths[0], reason=reason, files=0)]
