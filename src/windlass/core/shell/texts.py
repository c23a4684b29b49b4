"""Which words of a command are texts: messages, patterns, programs of sed. They name no files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol


class _Word(Protocol):
    """A word of whichever reader."""

    @property
    def text(self) -> str: ...


_ALL = frozenset(("tr", "expr", "echo"))
_GREP = "-[a-zA-Z]*[ABCmefd]"
_FIRST = {
    **dict.fromkeys(("grep", "egrep", "fgrep"), _GREP),
    "rg": f"{_GREP}|-[a-zA-Z]*[gtTMrj]",
    "sed": "-[a-zA-Z]*[efl]",
    **dict.fromkeys(("awk", "gawk", "mawk"), "-[Fvf]"),
    "jq": "-[a-zA-Z]*f",
}
"""Programs whose first word is a text, with their options that take a word before it."""
_SEPARATING = frozenset(("cut", "paste", "sort", "awk", "gawk", "mawk", "column", "xargs", "read"))
_MESSAGES = {
    **dict.fromkeys(("commit", "tag", "stash", "notes", "merge"), "-[a-zA-Z]*m|--message|--author"),
    **dict.fromkeys(("log", "show", "diff", "rev-list"), "-[SG]|--grep|--author"),
}
_JOINED = re.compile(r"--(?:message|grep|author|format|pretty)=|-[SG].")


def texts_of(name: str, said: Sequence[_Word]) -> set[int]:
    """The positions of the words that are texts; of those in doubt it says that they are none."""
    if name in _ALL:
        return set(range(1, len(said)))
    positions = _messages(said) if name == "git" else set()
    if name in _SEPARATING:
        positions |= _separators(said)
    if name in _FIRST:
        positions |= _patterns(said, re.compile(_FIRST[name]))
    return positions


def _messages(said: Sequence[_Word]) -> set[int]:
    commands = [_MESSAGES[word.text] for word in said[1:] if word.text in _MESSAGES]
    before = re.compile(commands[0] if commands else r"(?!)")
    return {
        at
        for at in range(2, len(said))
        if _JOINED.match(said[at].text) or before.fullmatch(said[at - 1].text)
    }


def _separators(said: Sequence[_Word]) -> set[int]:
    """`-d/` and `-F /`: too short to be a path that anybody wants."""
    return {
        at
        for at in range(1, len(said))
        if re.fullmatch(r"-[dtFs].?", said[at].text)
        or (len(said[at].text) < 2 and re.fullmatch(r"-[dtFs]", said[at - 1].text))
    }


def _patterns(said: Sequence[_Word], valued: re.Pattern[str]) -> set[int]:
    positions: set[int] = set()
    pattern_seen = any(re.fullmatch("-[a-zA-Z]*e", word.text) for word in said[1:])
    for at in range(1, len(said)):
        before, text = said[at - 1].text if at > 1 else "", said[at].text
        if re.fullmatch("-[a-zA-Z]*e", before):
            positions.add(at)
        elif pattern_seen or text.startswith("-") or valued.fullmatch(before):
            continue
        else:
            # Behind a long option nobody knows whether it is the option's: then none is a text.
            pattern_seen = True
            if not (before.startswith("--") and "=" not in before and before != "--"):
                positions.add(at)
    return positions
