"""Where the command line prints: everything goes through here, and nothing of an agent's acts.

Commands show what agents wrote by `core.printable`; what one of them forgot is shown here, so that
no control reaches a terminal but the colours that `paint` makes: it marks them with a word that
nobody else knows. Programs that `wl` becomes (`wl attach`) or starts for the person (a diff tool)
print by themselves.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from windlass.core.errors import WindlassError
from windlass.core.printable import keep_colour, printable, without_escapes

_COLOURS = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
_PLAIN = "0"
_CLEAR = "\x1b[H\x1b[2J"
_WORD = os.urandom(8).hex()
_MARK = re.compile(f"\x00{_WORD}([0-9]+)\x00")
_BYTES = re.compile("([\udc80-\udcff]+)")
"""Bytes that are no UTF-8: of names, which programs want as they are and terminals do not."""


def coloured(stream: TextIO) -> bool:
    """Whether to colour what goes there."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def paint(text: str, colour: str) -> str:
    """A text in a colour of ours."""
    return f"\x00{_WORD}{_COLOURS[colour]}\x00{text}\x00{_WORD}{_PLAIN}\x00"


def unpainted(text: str) -> str:
    """A text without our colours: what of it takes room on a terminal."""
    return _MARK.sub("", text)


def shown(text: str, *, terminal: bool) -> str:
    """A text as it is printed: controls can be seen, but for the colours that are ours."""
    parts = _MARK.split(text)
    for number, part in enumerate(parts):
        parts[number] = f"\x1b[{part}m" if number % 2 else _visible(part, terminal=terminal)
    return "".join(parts)


def _visible(text: str, *, terminal: bool) -> str:
    if terminal:
        return printable(text)
    parts = _BYTES.split(text)
    return "".join(part if number % 2 else printable(part) for number, part in enumerate(parts))


def write(text: str) -> None:
    """Writes lines for people."""
    _write(shown(text, terminal=sys.stdout.isatty()))


def write_json(value: Any, *, indent: int | None = None) -> None:
    """Writes a value for programs; every control is escaped in it."""
    _write(json.dumps(value, indent=indent).replace("\x7f", "\\u007f") + "\n")


def write_exactly(text: str) -> None:
    """Writes what programs take byte for byte; a terminal shows it like anything else."""
    _write(shown(text, terminal=True) if sys.stdout.isatty() else text)


def write_screen(text: str, *, colour: bool, clear: bool) -> None:
    """Writes an agent's screen: its text and, if wanted, its colours."""
    before = (_CLEAR if sys.stdout.isatty() else "\n") if clear else ""
    _write(before + (keep_colour(text) if colour else without_escapes(text)))


def write_error(text: str) -> None:
    """Writes what is said beside the output."""
    sys.stderr.write(shown(text, terminal=True))
    sys.stderr.flush()


class LiveLines:
    """Lines below everything else on a terminal, which are written over again and again."""

    def __init__(self) -> None:
        self._written = 0

    def write(self, *lines: str) -> None:
        """Writes these in the place of the last ones; none takes them away."""
        up = f"\x1b[{self._written - 1}A" if self._written > 1 else ""
        sys.stderr.write(f"\r{up}\x1b[J")
        write_error("\n".join(lines))
        self._written = len(lines)


def flush() -> None:
    """Writes what was kept back."""
    with _clearly_failing():
        sys.stdout.flush()


def _write(text: str) -> None:
    """Writes what may hold half a character: a name that is not UTF-8 is no reason to fail."""
    flush()
    with _clearly_failing():
        sys.stdout.buffer.write(text.encode(errors="surrogateescape"))
        sys.stdout.buffer.flush()


@contextmanager
def _clearly_failing() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise WindlassError(
            f"cannot write the output: {error.strerror}", "what was asked for may have been done"
        ) from None
