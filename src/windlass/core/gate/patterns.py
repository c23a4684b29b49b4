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
    return any(_compiled(pattern, below=True).fullmatch(path) is not None for pattern in wanted)


def may_hold(folder: str, wanted: Iterable[str]) -> bool:
    """Whether something below a folder may be named by one of these patterns."""
    return any(_leads(_parts(pattern), folder.split("/")) for pattern in wanted)


def _leads(parts: list[str], folders: list[str]) -> bool:
    for part, folder in zip(parts, folders, strict=False):
        if part == "**":
            return True
        if _compiled(part).fullmatch(folder) is None:
            return False
    return len(folders) < len(parts)


def _parts(pattern: str) -> list[str]:
    return [part for part in pattern.strip("/").split("/") if part not in ("", ".")]


@cache
def _compiled(pattern: str, *, below: bool = False) -> re.Pattern[str]:
    """`*` and `?` stay within a name, `**` is any number of folders."""
    parts = _parts(pattern)
    said = []
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        if part == "**":
            said.append(".*" if is_last else "(?:[^/]+/)*")
        else:
            words = (_CHARACTERS.get(character, re.escape(character)) for character in part)
            said.append("".join(words) + ("" if is_last else "/"))
    return re.compile("".join(said) + ("(?:/.*)?" if below else ""), re.DOTALL)


_CHARACTERS = {"*": "[^/]*", "?": "[^/]"}
