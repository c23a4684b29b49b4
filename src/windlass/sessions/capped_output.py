"""The output of a program kept in a file, as much as there is room for: its head and its end."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import IO

_PART = 1 << 16


class CappedOutput:
    """Writes what it is fed to a file, at most so many bytes: half from the start, half the end.

    What is left out between them is said in one line in its place.
    """

    def __init__(self, file: IO[bytes], *, most: int) -> None:
        self._file = file
        self._room = most // 2
        self._most_of_end = most - self._room
        self._end: deque[bytes] = deque()
        self._end_bytes = 0
        self.left_out = 0

    def feed(self, part: bytes) -> None:
        """Takes what the program said next."""
        head, rest = part[: self._room], part[self._room :]
        if head:
            self._file.write(head)
            self._room -= len(head)
        if rest:
            self._end.append(rest)
            self._end_bytes += len(rest)
        while self._end_bytes > self._most_of_end:
            first = self._end.popleft()
            over = self._end_bytes - self._most_of_end
            if len(first) > over:
                self._end.appendleft(first[over:])
            gone = min(len(first), over)
            self._end_bytes -= gone
            self.left_out += gone

    def close(self) -> None:
        """Writes the end behind the head."""
        if self.left_out:
            self._file.write(f"\n[windlass: {self.left_out} bytes are left out here]\n".encode())
        for part in self._end:
            self._file.write(part)
        self._file.flush()


def pump(source: int, log: Path, *, most: int) -> int:
    """Reads a pipe to its end into a file; returns how many bytes were left out."""
    with log.open("ab") as file:
        output = CappedOutput(file, most=most)
        try:
            while part := os.read(source, _PART):
                output.feed(part)
        finally:
            output.close()
        return output.left_out
