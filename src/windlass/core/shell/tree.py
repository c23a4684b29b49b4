"""What a shell line is made of: words, commands, and how commands hang together. Data only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

SETTING = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^\]]*\])?\+?=")
_PAIRS = (("[", "]"), ("{", "}"))
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Broken(Exception):
    """A line is no shell that we read; nothing is known about what it would do."""


class Piece(NamedTuple):
    """Part of a word: text as it will be, a variable's value, or what commands print."""

    kind: Literal["text", "variable", "run", "sum"]
    text: str
    quoted: bool
    inside: Node | None = None
    """The commands of a `run`."""


class Word(NamedTuple):
    """One word, before the shell expands it."""

    pieces: tuple[Piece, ...]
    plain: bool
    """Whether nothing in it was quoted or escaped, so that it can be a word of the grammar."""

    @property
    def literal(self) -> str | None:
        """The one word that it certainly becomes; None if it may become another, or several."""
        if any(piece.kind != "text" for piece in self.pieces):
            return None
        bare = "".join(piece.text for piece in self.pieces if not piece.quoted)
        if _expands(bare):
            return None
        # Only an unquoted ~ in front is a folder; behind = and : it is in settings.
        if self.pieces and not self.pieces[0].quoted and self.pieces[0].text.startswith("~"):
            return None
        return self.text

    @property
    def text(self) -> str:
        """Its literal text; what is not known is left out."""
        return "".join(piece.text for piece in self.pieces if piece.kind == "text")

    @property
    def dynamic(self) -> bool:
        """Whether it holds what only the running shell knows."""
        return any(piece.kind != "text" for piece in self.pieces)


class Setting(NamedTuple):
    """`NAME=value` in front of a command or alone; arrays have several values."""

    name: str
    values: tuple[Word, ...]
    indexed: bool = False
    more: bool = False
    """Whether it is `+=`, which adds to what there was."""


class Redirect(NamedTuple):
    """`> file` and its kin. The word of a here-document is its body."""

    operator: str
    target: Word


class Command(NamedTuple):
    """A simple command; without words it only sets."""

    words: tuple[Word, ...]
    settings: tuple[Setting, ...] = ()
    redirects: tuple[Redirect, ...] = ()


class Node(NamedTuple):
    """Commands put together.

    `parts` are run one after the other: in a `list` whatever happens, in `and` and `or` depending
    on the one before; `test` is `[[ … ]]`, whose words are in `words`. Parts of a `loop` and of
    `branches` may run or not. `apart` and `pipe` have processes of their own.
    """

    kind: Literal["list", "and", "or", "not", "apart", "pipe", "loop", "branches", "test", "for"]
    parts: tuple[Node | Command, ...] = ()
    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    name: str = ""
    """Of the variable of a `for`."""


def _expands(bare: str) -> bool:
    """Whether unquoted text holds a glob or braces; {} alone is none to any shell."""
    bare = bare.replace("{}", "")
    pairs = (
        bare.find(first) >= 0 and bare.rfind(last) > bare.find(first) for first, last in _PAIRS
    )
    return "*" in bare or "?" in bare or any(pairs)


def lead(word: Word) -> Piece | None:
    """What a word begins with; None for an empty one."""
    return next((piece for piece in word.pieces if piece.kind != "text" or piece.text), None)


def splits(word: Word) -> bool:
    """Whether the shell may make several words of it: values outside of quotes are split."""
    return any(piece.kind in ("variable", "run") and not piece.quoted for piece in word.pieces)


def may_be_option(word: Word) -> bool:
    """Whether a word that is not written out may turn into an option, or into several words."""
    first = lead(word)
    if word.literal is not None or first is None:
        return False
    if first.kind != "text" or splits(word):
        return True
    # {-a,b} and a glob that finds a file called -a
    return not first.quoted and first.text[:1] in ("*", "?", "[", "{")


def commands(node: Node | Command) -> Iterator[Command]:
    """Every simple command in a line, those in its words too."""
    return (each for each in nodes(node) if isinstance(each, Command))


def nodes(node: Node | Command, *, documents: bool = True) -> Iterator[Node | Command]:
    """Everything in a line, from the outside in; on demand without its here-documents."""
    waiting = [node]
    while waiting:
        each = waiting.pop()
        yield each
        pieces = (piece for word in words(each, documents=documents) for piece in word.pieces)
        inside = [piece.inside for piece in pieces if piece.inside is not None]
        waiting += reversed([*inside, *(each.parts if isinstance(each, Node) else ())])


def words(node: Node | Command, *, documents: bool = True) -> Iterator[Word]:
    """The words of one node itself: its own, those it sets, and where it redirects to."""
    yield from node.words
    if isinstance(node, Command):
        for setting in node.settings:
            yield from setting.values
    for redirect in node.redirects:
        if documents or redirect.operator != "<<":
            yield redirect.target
