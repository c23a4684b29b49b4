"""A command that was read loosely, written out once for each of its meanings."""

from __future__ import annotations

from collections.abc import Iterator

from windlass.core.shell.said import Said
from windlass.core.shell.tree import Piece, Word
from windlass.core.shell.values import UNKNOWN


def together(words: tuple[Said, ...]) -> list[str]:
    """The words as one text, in each of its meanings."""
    texts = [""]
    for word in words:
        texts = [f"{text} {more}" for text in texts for more in word.texts][:16]
    return texts


def alternatives(words: tuple[Said, ...]) -> Iterator[tuple[Word, ...]]:
    """A command as the words of one, for each of what its words may become."""
    for at in range(min(max(len(word.texts) for word in words), 4)):
        yield tuple(
            _word(part)
            for word in words
            for part in (
                word.parts if len(word.parts) > 1 else (word.texts[-1 - at % len(word.texts)],)
            )
        )


def _word(text: str) -> Word:
    if text == UNKNOWN:
        return Word((Piece("variable", "?", quoted=True),), plain=False)
    return Word((Piece("text", text.replace(UNKNOWN, ""), quoted=True),), plain=True)
