"""Files with holes: what takes no room where it is read takes none where it is written.

An agent makes a file of gigabytes out of nothing, as many as it likes, and no limit on its disk
sees them. Written out in full they would fill the disk of whoever copies them.
"""

from __future__ import annotations

import errno
import os
from typing import IO

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
    at = 0
    while (start := _data_from(source, at)) is not None:
        at = os.lseek(source, start, os.SEEK_HOLE)
        _copy_part(source, target, start, at)
        size = max(size, at)
    os.ftruncate(target, size)


def size(source: int) -> int:
    """The bytes of an open file that are in holes; its place in the file is left where it was."""
    info = os.fstat(source)
    if info.st_size <= info.st_blocks * _UNIT:
        return 0
    place = os.lseek(source, 0, os.SEEK_CUR)
    # What a file system compresses takes less room as well, and is no hole.
    at = data = 0
    while (start := _data_from(source, at)) is not None:
        at = os.lseek(source, start, os.SEEK_HOLE)
        data += at - start
    os.lseek(source, place, os.SEEK_SET)
    return max(0, info.st_size - data)


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
