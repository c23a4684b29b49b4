"""The output of a program kept in a file, as much as there is room for: its head and its end."""

from __future__ import annotations

from collections import deque
from typing import IO

from windlass.core.gate.printed_lines import CUT_LINE

_PART = 1 << 16
"""Bytes that are kept together: each part has a price of its own, and some say a byte at a time."""


class CappedOutput:
    """Writes what it is fed to a file, at most so many bytes: half from the start, half the end.

    What is left out between them is said in its place.
    """

    def __init__(self, file: IO[bytes], *, most: int) -> None:
        self._file = file
        self._room = most // 2
        self._most_of_end = most - self._room
        self._end: deque[bytearray] = deque()
        self._end_bytes = 0
        self.left_out = 0

    def feed(self, part: bytes) -> None:
        """Takes what the program said next."""
        head, rest = part[: self._room], part[self._room :]
        if head:
            self._file.write(head)
            self._file.flush()  # it is read while the program goes on, and after we have died
        self._room -= len(head)
        if rest:
            if not self._end or len(self._end[-1]) >= _PART:
                self._end.append(bytearray())
            self._end[-1] += rest
            self._end_bytes += len(rest)
        while self._end_bytes > self._most_of_end:
            self._forget(self._end_bytes - self._most_of_end)

    def _forget(self, over: int) -> None:
        first = self._end[0]
        gone = min(len(first), over)
        del first[:gone]
        if not first:
            self._end.popleft()
        self._end_bytes -= gone
        self.left_out += gone

    def close(self) -> None:
        """Writes the end behind the head."""
        if self.left_out:
            said = f"\n{CUT_LINE}\n[windlass: {self.left_out} bytes are left out here]\n"
            self._file.write(said.encode())
        for part in self._end:
            self._file.write(part)
        self._file.flush()
