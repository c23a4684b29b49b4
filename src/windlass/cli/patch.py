"""A patch in colours: made here, from a patch without any, so that what agents wrote makes none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from windlass.core.printable import printable

Paint = Callable[[str, str], str]

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_STAT = re.compile(r"( .* \| +\d+ )(\+*)(-*)")
_COLOURS = {"+": "green", "-": "red"}


def shown(patch: str, paint: Paint) -> str:
    """A patch, or a list of how much changed where, as lines for a terminal."""
    lines = _lines(patch.removesuffix("\n"), paint) if patch else ()
    return "".join(f"{line}\n" for line in lines)


def _lines(patch: str, paint: Paint) -> Iterator[str]:
    """Whether a line is one of the file's is known by counting: `--- x` may be a line taken out."""
    before = after = 0
    for raw in patch.split("\n"):
        line = printable(raw)
        hunk = _HUNK.match(line)
        if before > 0 or after > 0:
            before -= line[:1] in ("-", " ", "")
            after -= line[:1] in ("+", " ", "")
            yield paint(line, _COLOURS[line[0]]) if line[:1] in _COLOURS else line
        elif hunk is not None:
            before, after = (int(count or 1) for count in hunk.groups())
            yield paint(hunk[0], "cyan") + line[hunk.end() :]
        elif counted := _STAT.fullmatch(line):
            more, less = (part and paint(part, _COLOURS[part[0]]) for part in counted.groups()[1:])
            yield f"{counted[1]}{more}{less}"
        elif line.startswith((" ", "\\")) or not line:
            yield line
        else:
            yield paint(line, "bold")
