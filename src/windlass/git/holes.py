"""Files with holes: what takes no room where it is read takes none where it is written.

An agent makes a file of gigabytes out of nothing, as many as it likes, and no limit on its disk
sees them. Written out in full they would fill the disk of whoever copies them.
"""

from __future__ import annotations

import errno
import os
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CHUNK = 1 << 20
_BLOCK = 64 << 10
_NOTHING = bytes(_BLOCK)
_UNIT = 512
"""Bytes in which the system counts the room of a file, whatever its blocks are."""


def copy(source: int, target: int) -> None:
    """Copies what an open file holds to another, which is empty; holes are neither read nor made.

    Where the file system does not tell of holes, it tells that there are none.
    """
    size = os.fstat(source).st_size
    for start, length in parts(source):
        _copy_part(source, target, start, start + length)
        size = max(size, start + length)
    os.ftruncate(target, size)


def parts(source: int) -> Iterator[tuple[int, int]]:
    """Where in an open file there is data: the place and the length of each part, in order."""
    end = 0
    while (start := _data_from(source, end)) is not None:
        end = os.lseek(source, start, os.SEEK_HOLE)
        yield start, end - start


def size(source: int) -> int:
    """The bytes of an open file that are in holes; its place in the file is left where it was."""
    info = os.fstat(source)
    if not may_be_in(info):
        return 0
    place = os.lseek(source, 0, os.SEEK_CUR)
    data = sum(length for _, length in parts(source))
    os.lseek(source, place, os.SEEK_SET)
    return max(0, info.st_size - data)


def may_be_in(info: os.stat_result) -> bool:
    """Whether a file takes less room than it is long; so does one that is compressed."""
    return info.st_size > info.st_blocks * _UNIT


def _data_from(source: int, at: int) -> int | None:
    try:
        return os.lseek(source, at, os.SEEK_DATA)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return None  # up to its end there is nothing more


def _copy_part(source: int, target: int, at: int, end: int) -> None:
    while at < end and (chunk := os.pread(source, min(_CHUNK, end - at), at)):
        rest = memoryview(chunk)
        while rest:
            written = os.pwrite(target, rest, at)
            rest = rest[written:]
            at += written


class PartReader:
    """Reads some parts of an open file as if they were all of it."""

    def __init__(self, source: int, parts: Iterable[tuple[int, int]]) -> None:
        self._source = source
        self._parts = iter(parts)
        self._at = self._left = 0

    def read(self, size: int) -> bytes:
        """Gives so much of what comes next; less at the end of it, or where the file is shorter."""
        found = bytearray()
        while len(found) < size:
            if not self._left:
                self._at, self._left = next(self._parts, (0, 0))
                if not self._left:
                    break
            chunk = os.pread(self._source, min(size - len(found), self._left), self._at)
            if not chunk:
                break
            found += chunk
            self._at += len(chunk)
            self._left -= len(chunk)
        return bytes(found)


class HoleWriter:
    """Writes to a new file, and leaves a hole for what is nothing but zeros; `finish` ends it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, data: bytes) -> int:
        """Takes what comes next."""
        for start in range(0, len(data), _BLOCK):
            block = data[start : start + _BLOCK]
            if block == _NOTHING[: len(block)]:
                self._file.seek(len(block), os.SEEK_CUR)
            else:
                self._file.write(block)
        return len(data)

    def finish(self) -> None:
        """Gives the file its length, which may end in a hole."""
        self._file.truncate(self._file.tell())
