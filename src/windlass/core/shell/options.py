"""Options as GNU programs and git take them: letters put together, long names cut short."""

from __future__ import annotations

from itertools import takewhile
from typing import NamedTuple


class Options(NamedTuple):
    """Some options of one command."""

    long: tuple[str, ...] = ()
    letters: str = ""
    valued: str = ""
    """Other letters, to which their value may be joined: what follows one is no option."""
    others: tuple[str, ...] = ()
    """Options in their own right that are the beginning of one of these."""

    def has(self, text: str) -> bool:
        """Whether a word may be one of these options, however it is cut short."""
        if not text.startswith("--"):
            together = takewhile(lambda sign: sign.isalnum() and sign not in self.valued, text[1:])
            return text.startswith("-") and any(letter in self.letters for letter in together)
        name = text.partition("=")[0]
        beginning = name != "--" and name not in self.others
        return beginning and any(option.startswith(name) for option in self.long)
