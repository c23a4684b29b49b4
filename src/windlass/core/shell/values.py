"""What words of a shell line may become: the texts that a word can turn into, as far as known.

A variable that the line itself sets to something written out is replaced by it (by all of it, if it
is set more than once), as are `~`, `$HOME`, `$PWD`, `$(pwd)`. What is not known is `UNKNOWN`. What
the shell splits at blanks is there as a whole and in its parts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import product

from windlass.core.shell.steps import Steps
from windlass.core.shell.tree import Command, Node, Piece, Word, nodes, splits

UNKNOWN = "\0"
MOST = 64
_BRACES = re.compile(r"\{([^{}]*)\}")
_HOMES = re.compile(r"~([^/:]*)")


class Values:
    """What is known of variables while a line runs; the same for the whole of it."""

    def __init__(self, node: Node, known: Mapping[str, str], steps: Steps | None = None) -> None:
        self._steps = steps or Steps()
        self._known = {name: {value} for name, value in known.items() if value}
        self._words: dict[str, list[Word] | None] = {}
        for each in nodes(node):
            for name, words in _set_by(each):
                had = self._words.setdefault(name, [])
                if words is None or had is None:
                    self._words[name] = None
                else:
                    had.extend(words)

    def names(self) -> frozenset[str]:
        """The variables that the line sets."""
        return frozenset(self._words)

    def unsplit(self) -> frozenset[str]:
        """The variables that the line sets to single words alone: no shell splits these."""
        if "IFS" in self._words:
            return frozenset()
        return frozenset(
            name
            for name, words in self._words.items()
            if words and all(re.fullmatch(r"\S+", word.literal or "") for word in words)
        )

    def of(self, word: Word, cwds: frozenset[str], *, depth: int = 0) -> set[str]:
        """The texts that a word may become; too many are as good as none known."""
        values = [
            self._piece(piece, cwds, first=at == 0, depth=depth)
            for at, piece in enumerate(word.pieces)
        ]
        many = math.prod(map(len, values))
        if many > MOST:
            return {UNKNOWN + "/"}
        self._steps.take(1 + many * sum(max(map(len, texts)) for texts in values))
        texts = set(map("".join, product(*values)))
        if any(not piece.quoted and "{" in piece.text for piece in word.pieces):
            texts |= {more for text in texts for more in braced(text, self._steps)}
        if splits(word):
            texts |= {part for text in texts for part in text.split()}
        return texts if len(texts) <= MOST else {UNKNOWN + "/"}

    def _piece(self, piece: Piece, cwds: frozenset[str], *, first: bool, depth: int) -> set[str]:
        if piece.kind == "sum":
            return {"0"}
        if piece.kind == "run":
            return set(cwds) if piece.text.strip() in ("pwd", "pwd -P") and cwds else {UNKNOWN}
        if piece.kind == "variable":
            return self._variable(piece.text, cwds, depth=depth)
        if first and not piece.quoted and piece.text.startswith("~"):
            return self._home(piece.text, cwds, depth=depth)
        return {piece.text}

    def _home(self, text: str, cwds: frozenset[str], *, depth: int) -> set[str]:
        whose = _HOMES.match(text)
        if whose is None or whose[1] not in ("", "+"):
            return {UNKNOWN + text[text.find("/") :] if "/" in text else UNKNOWN + "/"}
        homes = self._variable("HOME" if not whose[1] else "PWD", cwds, depth=depth)
        return {home + text[whose.end() :] for home in homes}

    def _variable(self, name: str, cwds: frozenset[str], *, depth: int) -> set[str]:
        known = set(cwds) if name == "PWD" else self._known.get(name, set())
        if name not in self._words:
            return known or {UNKNOWN}
        words = self._words[name]
        # Variables set from each other, many times over, would be followed forever.
        if words is None or depth > 2 or len(words) > (MOST if depth == 0 else 8):
            return {UNKNOWN}
        values = {text for word in words for text in self.of(word, cwds, depth=depth + 1)}
        return (values | known) or {""}


def _set_by(node: Node | Command) -> Iterator[tuple[str, list[Word] | None]]:
    """Which variables are set here and to what; None is something that nobody knows."""
    if isinstance(node, Node):
        if node.kind == "for":
            yield node.name, list(node.words) or None
        return
    for setting in node.settings:
        before = (Piece("variable", setting.name, quoted=True),) if setting.more else ()
        words = [word._replace(pieces=(*before, *word.pieces)) for word in setting.values]
        yield setting.name, None if setting.indexed else words
    name = node.words[0].literal if node.words else None
    if name in ("export", "declare", "typeset", "local", "readonly"):
        for word in node.words[1:]:
            yield from _declared(word)
    elif name in ("read", "printf", "mapfile", "readarray", "getopts", "unset"):
        for word in node.words[1:]:
            if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", word.text):
                yield word.text, None


def _declared(word: Word) -> Iterator[tuple[str, list[Word]]]:
    for at, piece in enumerate(word.pieces):
        name, equals, rest = piece.text.partition("=")
        if piece.kind == "text" and equals:
            bare = name.removesuffix("+")
            before = (Piece("variable", bare, quoted=True),) if bare != name else ()
            value = piece._replace(text=rest)
            yield bare, [Word((*before, value, *word.pieces[at + 1 :]), word.plain)]
            return


def braced(text: str, steps: Steps | None = None) -> set[str]:
    """`a{b,c}` as its alternatives; a range stands for one of them."""
    steps = steps or Steps()
    waiting, finished = [text], set[str]()
    while waiting and len(waiting) + len(finished) <= MOST * 2:
        alternative = waiting.pop()
        steps.take(len(alternative))
        inner = _BRACES.search(alternative)
        if inner is None:
            finished.add(alternative)
            continue
        options = inner[1].split(",")
        if len(options) == 1:
            options = [inner[1].partition("..")[0]]
        waiting += [
            alternative[: inner.start()] + option + alternative[inner.end() :] for option in options
        ]
    return finished | set(waiting)
