"""What a terminal shows after a program has written to it, from a record of what was written.

Pure. Knows what agent CLIs draw with: text, colours, moves of the cursor, erasing, inserting,
deleting, scrolling and the second screen. Scroll regions are not known: full-screen editors have
them, and those leave the second screen when they end. Agents write the record, so that every
number in it is bounded and no more than so many lines are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from unicodedata import category, east_asian_width

_TOKEN = re.compile(
    r"(?P<text>[^\x00-\x1f\x7f-\x9f]+)"
    r"|(?:\x1b\[|\x9b)(?P<private>[<=>?]?)(?P<numbers>[0-9;:]*)[ -/]*(?P<final>[@-~])"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*(?P<escape>[0-~])"
    r"|(?P<control>[\x00-\x1f\x7f-\x9f])"
)
_SECOND = ("47", "1047", "1049")
_KEPT = 10_000
_STYLES = 16
"""Colours and weights that are on at once; who sets more without a reset loses the oldest."""

_Style = tuple[str, ...]
_Cell = tuple[str, _Style]
_BLANK: _Cell = (" ", ())


def shown(record: str, *, columns: int, lines: int) -> list[str]:
    """The lines that scrolled out of the screen and those on it, with their colours."""
    screen = _Screen(columns, lines)
    for token in _TOKEN.finditer(record):
        if token["text"]:
            screen.write(token["text"])
        elif token["final"]:
            screen.control(token["private"], token["numbers"], token["final"])
        elif token["escape"]:
            screen.escape(token["escape"])
        elif token["control"]:
            screen.move(token["control"])
    return screen.text()


class _Screen:
    """Rows of cells, the last so many of them visible, and a cursor among those."""

    def __init__(self, columns: int, lines: int) -> None:
        self._columns, self._lines = columns, lines
        self._rows: list[list[_Cell]] = [[]]
        self._top = self._row = self._column = 0
        self._style: _Style = ()
        self._saved = (0, 0)
        self._first: tuple[list[list[_Cell]], int, int, int] | None = None
        self._commands: dict[str, Callable[[int], None]] = {
            "A": lambda n: self._go(self._row - n, self._column),
            "B": lambda n: self._go(self._row + n, self._column),
            "C": lambda n: self._go(self._row, self._column + n),
            "D": lambda n: self._go(self._row, self._column - n),
            "E": lambda n: self._go(self._row + n, 0),
            "F": lambda n: self._go(self._row - n, 0),
            "G": lambda n: self._go(self._row, n - 1),
            "`": lambda n: self._go(self._row, n - 1),
            "d": lambda n: self._go(self._top + n - 1, self._column),
            "X": lambda n: self._fill(self._column, self._column + n),
            "P": self._delete_cells,
            "@": self._insert_cells,
            "L": self._insert_rows,
            "M": self._delete_rows,
            "S": self._scroll,
        }

    def text(self) -> list[str]:
        """Every row as a line, without the empty ones at the end."""
        said = [_line(row) for row in self._rows]
        while said and not said[-1]:
            said.pop()
        return said

    def write(self, text: str) -> None:
        """Writes characters where the cursor is, and goes on in the next row at the edge."""
        for char in text:
            places = _places(char)
            if places == 0:
                self._join(char)
                continue
            if self._column + places > self._columns:
                self._column = 0
                self._line_feed()
            row = self._padded(self._column + places)
            row[self._column] = (char, self._style)
            if places == 2:
                row[self._column + 1] = ("", self._style)
            self._column += places

    def move(self, control: str) -> None:
        """Does what a control character says."""
        if control in "\n\x0b\x0c":
            self._line_feed()
        elif control == "\r":
            self._column = 0
        elif control == "\b":
            self._column = max(0, min(self._column, self._columns) - 1)
        elif control == "\t":
            self._column = min(self._columns - 1, self._column // 8 * 8 + 8)

    def escape(self, letter: str) -> None:
        """Does what an escape sequence of two characters says."""
        if letter == "7":
            self._saved = (self._row - self._top, self._column)
        elif letter == "8":
            self._go(self._top + self._saved[0], self._saved[1])
        elif letter in "DE":
            self._column = 0 if letter == "E" else self._column
            self._line_feed()
        elif letter == "M" and self._row > self._top:
            self._row -= 1
        elif letter == "M":
            self._insert_rows(1)
        elif letter == "c":
            self._erase_screen(2)
            self._go(self._top, 0)
            self._style = ()

    def control(self, private: str, numbers: str, final: str) -> None:
        """Does what a control sequence says; those that are not known change nothing."""
        if private:
            if private == "?" and final in "hl" and set(numbers.split(";")) & set(_SECOND):
                self._enter_second() if final == "h" else self._leave_second()
            return
        if final == "m":
            self._restyle(numbers)
            return
        given = [int(part[:6]) if part.isdigit() else 0 for part in numbers.split(";")]
        if final in "Hf":
            self._go(self._top + max(1, given[0]) - 1, max(1, [*given, 1][1]) - 1)
        elif final == "J":
            self._erase_screen(given[0])
        elif final == "K":
            start = 0 if given[0] in (1, 2) else self._column
            self._fill(start, self._column + 1 if given[0] == 1 else self._columns)
        elif final in "su":
            self.escape("7" if final == "s" else "8")
        elif (command := self._commands.get(final)) is not None:
            command(max(1, given[0]))

    def _go(self, row: int, column: int) -> None:
        self._row = max(self._top, min(row, self._top + self._lines - 1))
        self._column = max(0, min(column, self._columns - 1))

    def _line_feed(self) -> None:
        if self._row == self._top + self._lines - 1:
            self._scroll(1)
        else:
            self._row += 1

    def _scroll(self, count: int) -> None:
        """Moves rows out of the screen at its top; the cursor stays where it is on it."""
        self._row_at(self._top + self._lines - 1)
        count = min(count, self._lines)
        self._top += count
        self._row += count
        if self._top > 2 * _KEPT:
            del self._rows[:_KEPT]
            self._top -= _KEPT
            self._row -= _KEPT

    def _row_at(self, number: int) -> list[_Cell]:
        while len(self._rows) <= number:
            self._rows.append([])
        return self._rows[number]

    def _padded(self, width: int) -> list[_Cell]:
        """The cursor's row, at least that wide."""
        row = self._row_at(self._row)
        row.extend([_BLANK] * (width - len(row)))
        return row

    def _join(self, char: str) -> None:
        """Puts an accent onto the character before it, as many as anybody needs."""
        row = self._row_at(self._row)
        if 0 < self._column <= len(row) and len(row[self._column - 1][0]) < 8:
            before, style = row[self._column - 1]
            row[self._column - 1] = (before + char, style)

    def _fill(self, start: int, end: int) -> None:
        row = self._row_at(self._row)
        end = min(end, len(row))
        if end == len(row):
            del row[start:]
        else:
            row[start:end] = [_BLANK] * max(0, end - start)

    def _delete_cells(self, count: int) -> None:
        row = self._row_at(self._row)
        del row[self._column : self._column + count]

    def _insert_cells(self, count: int) -> None:
        row = self._padded(self._column)
        row[self._column : self._column] = [_BLANK] * min(count, self._columns)
        del row[self._columns :]

    def _insert_rows(self, count: int) -> None:
        end = self._top + self._lines
        self._row_at(end - 1)
        count = min(count, end - self._row)
        del self._rows[end - count : end]
        self._rows[self._row : self._row] = [[] for _ in range(count)]

    def _delete_rows(self, count: int) -> None:
        end = self._top + self._lines
        self._row_at(end - 1)
        count = min(count, end - self._row)
        del self._rows[self._row : self._row + count]
        self._rows[end - count : end - count] = [[] for _ in range(count)]

    def _erase_screen(self, what: int) -> None:
        if what == 3:  # what scrolled out of it
            del self._rows[: self._top]
            self._row -= self._top
            self._top = 0
            return
        if what in (0, 2):
            self._fill(0 if what == 2 else self._column, self._columns)
            del self._rows[self._row + 1 :]
        if what in (1, 2):
            for number in range(self._top, self._row):
                self._row_at(number).clear()
        if what == 1:
            self._fill(0, self._column + 1)

    def _restyle(self, numbers: str) -> None:
        if numbers in ("", "0"):
            self._style = ()
            return
        before = () if numbers.startswith("0;") else self._style
        self._style = (*(part for part in before if part != numbers), numbers[:64])[-_STYLES:]

    def _enter_second(self) -> None:
        if self._first is None:
            self._first = (self._rows, self._top, self._row, self._column)
            self._rows, self._top, self._row = [[]], 0, self._row - self._top

    def _leave_second(self) -> None:
        if self._first is not None:
            self._rows, self._top, self._row, self._column = self._first
            self._first = None


def _line(row: list[_Cell]) -> str:
    parts: list[str] = []
    style: _Style = ()
    end = len(row)
    while end and row[end - 1] == _BLANK:
        end -= 1
    for char, now in row[:end]:
        if now != style:
            parts.append("\x1b[0m" + "".join(f"\x1b[{numbers}m" for numbers in now))
            style = now
        parts.append(char)
    text = "".join(parts)
    return f"{text}\x1b[0m" if style else text.rstrip()


def _places(char: str) -> int:
    """How many columns a character takes."""
    if char < "\u0300":
        return 1
    if category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(char) in ("W", "F") else 1
