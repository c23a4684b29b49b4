"""How much work goes into judging one line: counted in steps, so that no line takes longer.

A step is about what one character costs. Whoever reads on takes steps first; when none are left,
the line is not judged. Lengths alone would not do: loops, variables and programs that start one
another make much work of little text.
"""

from __future__ import annotations

MOST = 1_000_000
"""For one line; an ordinary one takes some thousands, a long here-document some ten thousand."""
COMMAND = 2_000
"""What each command costs that has to be held against every pattern."""
READ_WORD = 400
"""What each word costs that is read, and looked at as whatever it may be."""
READ_PIECE = 200
"""What each quote and each expansion in a word costs, which is a piece of its own."""
WORD = 10
"""What each word costs, of a command that starts others over and over again."""
NODE = 200
"""What it costs to follow one part of a line once more: loops are followed several times."""
LOOKUP = 50
"""What it costs to see on the disk where a path leads."""


class TooLong(Exception):
    """Judging a line would take too long."""

    def __init__(self) -> None:
        super().__init__("it is too long to judge; take it apart, and write files with a file tool")


class Steps:
    """The steps that are left for one line."""

    __slots__ = ("left",)

    def __init__(self, most: int = MOST) -> None:
        self.left = most

    def take(self, count: int) -> None:
        """Uses up steps; raises TooLong when there are not so many."""
        self.left -= count
        if self.left < 0:
            raise TooLong
