"""Reading a shell line: the way in to words, signs and grammar."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from windlass.core.shell.grammar import Grammar
from windlass.core.shell.steps import MOST, Steps
from windlass.core.shell.tree import Broken, Node, Word

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


class ShellLine(NamedTuple):
    """A line that could be read, as a tree."""

    node: Node
    sums: frozenset[str]
    """The variables that it calculates with."""
    outline: str
    """The text without its here-documents, for a second reader."""


def read(text: str, steps: Steps | None = None) -> ShellLine:
    """Reads a line, which may be many; raises Broken, and TooLong when its steps are used up.

    What was read lately is not read again: who judges a line walks it in several ways.
    """
    line, taken = _read(text)
    if steps is not None:
        steps.take(taken)
    return line


@lru_cache(maxsize=64)
def _read(text: str) -> tuple[ShellLine, int]:
    """Reads a line; with the steps that it took, which whoever reads it anew has to have."""
    steps = Steps()
    if _CONTROL.search(text):
        raise Broken("it holds control characters")
    reader = Grammar(text, steps=steps)
    try:
        node = reader.list(until=())
    except RecursionError:
        raise Broken("it is nested too deeply") from None
    if reader.at < len(text):
        raise Broken(f"{reader.peek()!r} where a command should be")
    reader.require_no_document()
    outline = "".join(text[start:end] for start, end in _kept(reader.cut, len(text)))
    return ShellLine(node, frozenset(reader.sums), outline), MOST - steps.left


def forget() -> None:
    """Forgets what was read lately: for whoever measures what reading takes."""
    _read.cache_clear()


def word(text: str, steps: Steps | None = None) -> Word | None:
    """Reads the word that a text begins with; None if it begins with none."""
    return Grammar(text, steps=steps).word()


def _kept(cut: list[tuple[int, int]], length: int) -> Iterator[tuple[int, int]]:
    at = 0
    for start, end in sorted(cut):
        yield at, start
        at = end
    yield at, length
