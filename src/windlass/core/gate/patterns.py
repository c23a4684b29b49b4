"""Patterns of paths in a tree: `.venv`, `packages/*/dist`, `**/node_modules`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache


def matches(path: str, wanted: Iterable[str]) -> bool:
    """Whether a path is named by one of these patterns."""
    return any(_compiled(pattern).fullmatch(path) is not None for pattern in wanted)


def matches_below(path: str, wanted: Iterable[str]) -> bool:
    """Whether a path, or a folder that it lies in, is named by one of these patterns."""
    patterns = list(wanted)
    parts = path.split("/")
    return any(matches("/".join(parts[: end + 1]), patterns) for end in range(len(parts)))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """`*` and `?` stay within a name, `**` is any number of folders."""
    parts = [part for part in pattern.strip("/").split("/") if part not in ("", ".")]
    said = []
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        if part == "**":
            said.append(".*" if is_last else "(?:[^/]+/)*")
        else:
            words = (_CHARACTERS.get(character, re.escape(character)) for character in part)
            said.append("".join(words) + ("" if is_last else "/"))
    return re.compile("".join(said), re.DOTALL)


_CHARACTERS = {"*": "[^/]*", "?": "[^/]"}
