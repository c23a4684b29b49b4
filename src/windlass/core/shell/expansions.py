"""What `${x%…}`, `${x/a/b}`, `${x:1}` and their kin make of a value."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import translate

from windlass.core.shell.values import UNKNOWN

LONGEST = 4096
"""Of a value that is kept."""
_REPLACING = re.compile(r"((?:[^/\\]|\\.)*+)(?:/(.*))?", re.DOTALL)
_SLICE = re.compile(r": *(-?[0-9]+)(?::(-?[0-9]+))?$")


def changed(text: str, how: str) -> str:
    """The value behind an expansion; UNKNOWN where it cannot be told."""
    if len(text) > LONGEST or len(how) > 200:
        return UNKNOWN
    cut = _SLICE.fullmatch(how)
    if cut is not None:
        start = int(cut[1])
        end = None if cut[2] is None else int(cut[2])
        return text[start:] if end is None else text[start:][:end]
    if how[0] in "^,":
        change: Callable[[str], str] = str.upper if how[0] == "^" else str.lower
        return change(text) if how[1:2] == how[0] else change(text[:1]) + text[1:]
    if how[0] == "/":
        said = _REPLACING.fullmatch(how.lstrip("/#%"))
        old, new = said.groups("") if said else ("", "")
        if re.search(r"[*?\[$`]", old + new) or not old:
            return UNKNOWN
        new = new.replace("\\", "").strip("'\"")
        return text.replace(old.replace("\\", ""), new, -1 if how[:2] == "//" else 1)
    if how[0] in "#%" and how.count("*") < 3:
        return _cut_off(text, how)
    return text if how[0] == "@" else UNKNOWN


def _cut_off(text: str, how: str) -> str:
    greedy = how[:2] in ("##", "%%")
    pattern = re.compile(translate(how.lstrip("#%").strip("'\"")))
    ends = range(len(text) + 1)
    if how[0] == "#":
        wanted = reversed(ends) if greedy else ends
        return next((text[at:] for at in wanted if pattern.match(text[:at])), text)
    wanted = ends if greedy else reversed(ends)
    return next((text[:at] for at in wanted if pattern.match(text[at:])), text)
