"""What a line comes to, read loosely: words with what they may become, and commands of them."""

from __future__ import annotations

from typing import NamedTuple

Texts = tuple[str, ...]
"""What a word may become."""


class Said(NamedTuple):
    """A word of a command."""

    texts: Texts
    parts: Texts
    """The words that the shell may split it into, where it may."""
    end: int
    """Where it ends in the text that was read."""

    @property
    def text(self) -> str:
        """What it most likely becomes."""
        return self.texts[-1]


class Run(NamedTuple):
    """A command that a line comes to."""

    words: tuple[Said, ...]
    settings: dict[str, Texts]
    redirects: tuple[tuple[str, Said], ...]
    given: Texts
    """What it reads from its input, as far as that is known."""
    documents: Texts
    """Its here-documents and here-strings; they are part of what is given."""
    goes_on: bool
    """Whether what it prints goes into another command, or into a word."""
    folders: frozenset[str]
    outermost: bool
    """Whether it stands in the line itself, so that the line can be changed there."""

    @property
    def name(self) -> str:
        """The program, without its folder."""
        return self.words[0].text.rpartition("/")[2] if self.words else ""


NOTHING = Said((":",), (), 0)
"""What is judged where a loop has words of its own."""
