"""Draws on a terminal: what was said scrolls up, a block of lines stays at the bottom.

Plain printing, no full-screen mode, so the scrollback is the conversation. Everything shown passes
`clean`: names and output of programs may hold escapes.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import deque
from collections.abc import Sequence

REMEMBERED = 400
_CONTROL = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean(text: str) -> str:
    """Takes out everything that would move the cursor or change the terminal."""
    return _CONTROL.sub("", text.replace("\t", "    ").replace("\r\n", "\n"))


def width(text: str) -> int:
    """Returns how many columns a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )


def cut(text: str, columns: int) -> str:
    """Shortens a line to fit."""
    if width(text) <= columns:
        return text
    kept = ""
    for char in text:
        if width(kept + char) > columns - 1:
            break
        kept += char
    return kept + "…"


def wrap(text: str, columns: int, indent: str = "") -> list[str]:
    """Breaks a text into lines that fit, at blanks if it has any; the first has no indent."""
    lines: list[str] = []
    for number, line in enumerate(clean(text).split("\n")):
        rest = line if number == 0 else indent + line
        while width(rest) > columns:
            fits = len(rest)
            while width(rest[:fits]) > columns:
                fits -= max(1, (width(rest[:fits]) - columns) // 2)
            blank = rest.rfind(" ", len(indent) + 1, fits + 1)
            end = blank if blank > 0 else max(1, fits)
            lines.append(rest[:end])
            rest = indent + rest[end:].removeprefix(" ")
        lines.append(rest)
    return lines


class Screen:
    """The terminal of a session."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._said: deque[tuple[str, str]] = deque(maxlen=REMEMBERED)
        self._block: list[str] = []
        self._cursor = (0, 0)
        self._row = 0
        self.gone = False
        self.columns, self.lines = 80, 24
        self.measure()

    def measure(self) -> None:
        """Asks the terminal for its size."""
        try:
            size = os.get_terminal_size(self._fd)
        except OSError:
            return
        self.columns, self.lines = max(20, size.columns), max(6, size.lines)

    def say(self, text: str, indent: str = "  ") -> None:
        """Adds to what was said, above the block."""
        self._said.append((text, indent))
        self._paint(wrap(text, self.columns, indent))

    def show(self, block: Sequence[str], cursor: tuple[int, int]) -> None:
        """Replaces the block; `cursor` is where in it the cursor rests."""
        self._block = [*block]
        self._cursor = cursor
        self._paint([])

    def redraw(self) -> None:
        """Draws all anew, after the terminal changed its size."""
        self.measure()
        lines = [line for text, indent in self._said for line in wrap(text, self.columns, indent)]
        room = max(0, self.lines - len(self._block))
        self._row = 0
        self._paint(lines[len(lines) - room :] if room < len(lines) else lines, "\x1b[H\x1b[2J")

    def title(self, text: str) -> None:
        """Sets the terminal's title."""
        self.write(f"\x1b]0;{clean(text)}\x07")

    def leave(self) -> None:
        """Puts the cursor below everything."""
        self._block = []
        self._paint([])

    def write(self, text: str) -> None:
        """Sends text to the terminal; one that went away is not an error."""
        data = text.encode("utf-8", "replace")
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError:
            self.gone = True

    def _paint(self, lines: Sequence[str], clear: str = "") -> None:
        up = f"\x1b[{self._row}A" if self._row else ""
        start = clear or f"\r{up}\x1b[J"
        hidden = max(0, len(self._block) - self.lines)
        block = [cut(line, self.columns) for line in self._block[hidden:]]
        row = max(0, self._cursor[0] - hidden) if block else 0
        below = len(block) - 1 - row
        back = f"\x1b[{below}A" if below > 0 else ""
        column = min(self._cursor[1], self.columns - 1)
        forward = f"\x1b[{column}C" if block and column else ""
        said = "".join(f"{line}\r\n" for line in lines)
        self._row = row
        drawn = "\r\n".join(block)
        self.write(f"\x1b[?25l{start}{said}{drawn}\r{back}{forward}\x1b[?25h")
