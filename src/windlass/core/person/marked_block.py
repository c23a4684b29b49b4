"""A block between two marks in a file of instructions: put in, and taken out again to the byte.

It goes to the end of a file, behind one line end of its own, which goes with it; a file that begins
with it was made for it. In a file that has one it is replaced where it stands. What the block says
is its caller's.
"""

from __future__ import annotations

import re
from typing import NamedTuple

BEGIN = "<!-- windlass:begin -->"
END = "<!-- windlass:end -->"
_FIRST_LINE = re.compile(rf"^{BEGIN}(\r\n|\n)", re.MULTILINE)
_BEGINS = re.compile(rf"^{BEGIN}", re.MULTILINE)


class Block(NamedTuple):
    """Where a block stands in a text, and how its first line ends."""

    start: int
    end: int
    line_end: str


class Unending(Exception):
    """A block begins and does not end: nobody can say what is in it."""


def put(text: str | None, body: str) -> str:
    """Puts the block in; None is a file that is not there yet."""
    present = block(text or "")
    if text and present:
        return text[: present.start] + _block(body, present.line_end) + text[present.end :]
    line_end = "\r\n" if text and "\r\n" in text else "\n"
    before = "" if text is None else text + line_end
    return before + _block(body, line_end) + line_end


def take(text: str) -> str | None:
    """Takes every block out; None where nothing is left of a file that was made for one."""
    while present := block(text):
        line_end = present.line_end
        before, after = text[: present.start], text[present.end :].removeprefix(line_end)
        if not before and not after:
            return None
        before = before.removesuffix(line_end)
        # Somebody has written behind it: what were two lines stay two.
        if before and after and not before.endswith("\n"):
            before += line_end
        text = before + after
    return text


def block(text: str) -> Block | None:
    """The first block of a text.

    No one pattern finds both its ends: that would go through the whole text from each beginning.
    """
    first = _FIRST_LINE.search(text)
    end = text.find(f"\n{END}", first.end() - 1) if first else -1
    if first is not None and end >= 0:
        return Block(first.start(), end + 1 + len(END), first[1])
    if _BEGINS.search(text):
        raise Unending(f"{BEGIN} has no {END} behind it")
    return None


def says(text: str, body: str) -> bool:
    """Whether the block says this, whatever else is in it by now."""
    present = block(text)
    if present is None:
        return False
    return body.strip() in text[present.start : present.end].replace("\r\n", "\n")


def _block(body: str, line_end: str) -> str:
    return line_end.join((BEGIN, *body.rstrip("\n").split("\n"), END))
