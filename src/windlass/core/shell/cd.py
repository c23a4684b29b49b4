"""Which folders a shell line goes into with `cd` and `pushd`, as far as that can be read.

For advice, not for limits: what cannot be read goes nowhere. Whether a folder matters is for the
caller to say, who can follow links.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from windlass.core.shell import line_policy
from windlass.core.shell.runs import Words
from windlass.core.shell.steps import TooLong
from windlass.core.shell.tree import Word, commands
from windlass.core.shell.values import MOST, UNKNOWN, Values

_GOING = ("cd", "pushd")
_OURS = ("wl", "windlass")


class Entered(NamedTuple):
    """The folders that a line may enter, and the agents whose workspaces it may."""

    folders: frozenset[str]
    """Absolute, as they are written: neither links nor what is there was looked at."""
    agents: frozenset[str]
    """Those whose workspace is asked for on the way: `cd "$(wl path NAME)"`."""


def entered(line: str, *, cwd: str, known: Mapping[str, str]) -> Entered:
    """Reads a line that is run in a folder, with the variables that are known."""
    try:
        return _entered(line, cwd, known)
    except TooLong:
        return Entered(frozenset(), frozenset())


def _entered(line: str, cwd: str, known: Mapping[str, str]) -> Entered:
    node = line_policy.read_line(line).node
    if node is None:
        return Entered(frozenset(), frozenset())
    values = Values(node, known)
    folders, agents = {cwd}, set[str]()
    for words in line_policy.read_line(line).commands:
        if words[0].literal not in _GOING:
            continue
        for word in _targets(words):
            agents |= set(_asked_for(word))
            texts = values.of(word, frozenset(folders))
            # Each may have come before any other: that it went somewhere first is no excuse.
            folders |= set(_joined(folders, texts)) if len(folders) <= MOST else set()
    return Entered(frozenset(folders - {cwd}), frozenset(agents))


def _targets(words: Words) -> Iterator[Word]:
    return (word for word in words[1:] if not (word.literal or "").startswith(("-", "+")))


def _joined(folders: set[str], texts: set[str]) -> Iterator[str]:
    for text in texts:
        if UNKNOWN not in text and text:
            yield from (posixpath.normpath(posixpath.join(folder, text)) for folder in folders)


def _asked_for(word: Word) -> Iterator[str]:
    for piece in word.pieces:
        for command in commands(piece.inside) if piece.inside is not None else ():
            said = [word.literal for word in command.words]
            if len(said) > 2 and said[0] in _OURS and said[1] == "path" and said[2]:
                yield said[2]
