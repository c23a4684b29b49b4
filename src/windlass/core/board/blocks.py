"""What of a Markdown file is text: neither inside a fence of code nor inside a comment."""

from __future__ import annotations

import re

from windlass.core.board.tasks import Problem

_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})([^\r]*)")
_OPENS = "<!--"
_CLOSES = "-->"


class Blocks:
    """Follows a file from line to line, and knows whether a line is hidden in a block."""

    def __init__(self) -> None:
        self._fence = ""
        self._inside = False
        """Whether the fence belongs to something indented, which ends where that does."""
        self._comment = False
        self._opened = 0
        self.in_fence = False
        """Whether the last line was code, or began or ended it."""

    def hides(self, line: str, number: int) -> bool:
        """Whether this line is no text of its own; lines have to come in their order."""
        stripped = line.strip()
        self.in_fence = False
        if self._comment:
            self._comment = _CLOSES not in line
            return True
        if self._fence:
            if self._inside and stripped and line[0] not in " \t":
                self._fence = ""
            else:
                self.in_fence = True
                if self._closes(stripped):
                    self._fence = ""
                return True
        if stripped.startswith(_OPENS):
            self._comment = _CLOSES not in stripped[len(_OPENS) :]
            self._opened = number
            return True
        if stripped[:3] in ("```", "~~~") and (fence := _FENCE.match(line)):
            marks, about = fence[2], fence[3]
            if marks[0] == "~" or "`" not in about:
                self._fence, self._inside = marks, len(fence[1].expandtabs(4)) > 1
                self._opened = number
                self.in_fence = True
                return True
        return False

    def _closes(self, stripped: str) -> bool:
        marks = self._fence
        return len(stripped) >= len(marks) and not stripped.strip(marks[0])

    def problem(self) -> Problem | None:
        """What was opened and not closed by the end of the file."""
        if self._comment:
            return Problem(
                self._opened,
                "unclosed",
                "a comment begins here and never ends, so that no task below it is read",
                "close it with -->",
            )
        if self._fence and not self._inside:
            return Problem(
                self._opened,
                "unclosed",
                "a fence of code begins here and never ends, so that no task below it is read",
                f"close it with a line {self._fence}",
            )
        return None
