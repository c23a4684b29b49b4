"""What a program prints, made harmless for a person's terminal while it is being printed.

Pure. Text, colours, and what progress bars do (moving the cursor, erasing) pass. Whatever else
would tell the terminal something is dropped: clipboard, titles, links, modes, questions that it
would answer as if somebody typed, other character sets, hidden text. For whole texts there is
`printable`.
"""

from __future__ import annotations

import codecs
import re

from windlass.core.printable import visible_colours

# First what has only begun; then strings (OSC, DCS, SOS, PM, APC) to their end, or to that of their
# line; then sequences; then single controls, the eight-bit ones also as bytes that are no UTF-8.
_STRING = "(?:\x1b[\\]PX^_]|[\x90\x98\x9d\x9e\x9f\udc90\udc98\udc9d\udc9e\udc9f])"
_IN_STRING = "[^\x07\x18\x1a\x1b\x9c\udc9c\n]*"
_START = "(?:\x1b\\[|[\x9b\udc9b])"
_CONTROL = re.compile(
    f"(?P<open>{_STRING}{_IN_STRING}\x1b?\\Z|{_START}[0-?]*[ -/]*\\Z|\x1b[ -/]*\\Z)"
    f"|(?P<string>{_STRING}{_IN_STRING}(?:\x07|\x1b\\\\|[\x9c\udc9c\x18\x1a])?)"
    f"|(?P<sequence>{_START}[0-?]*[ -/]*[@-~]?)"
    "|(?P<escape>\x1b[ -/]*[0-~]?)"
    "|[\x00-\x06\x0b-\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f\udc80-\udc9f]"
)
_MOVING = re.compile(r"\x1b\[[0-9;]*[ABCDEFGHJKf]")
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_LONGEST = 4_096
"""So much of a sequence is waited for; more than this no program needs."""


class TerminalFilter:
    """Takes output piece by piece, in whatever pieces it comes, and gives what may be printed."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._begun = ""
        """A sequence whose end has not come yet."""

    def feed(self, data: bytes, *, last: bool = False) -> bytes:
        """What of the next piece may be printed; with `last` nothing more comes."""
        text = self._begun + self._decoder.decode(data, last)
        self._begun = ""
        parts, end = [], 0
        for control in _CONTROL.finditer(text):
            parts.append(text[end : control.start()])
            end = control.end()
            if control["open"] is not None:
                self._begun = _short(control["open"])
            elif control["sequence"] is not None:
                parts.append(_harmless(control["sequence"]))
        parts.append(text[end:])
        return "".join(parts).encode("utf-8", "surrogateescape")


def _short(begun: str) -> str:
    """What has begun; of a long string only how it began: that it goes on is what counts."""
    if len(begun) <= _LONGEST:
        return begun
    return begun[: 2 if begun[0] == "\x1b" else 1] + ("\x1b" if begun.endswith("\x1b") else "")


def _harmless(sequence: str) -> str:
    if _MOVING.fullmatch(sequence):
        return sequence
    return visible_colours(sequence) if _COLOUR.fullmatch(sequence) else ""
