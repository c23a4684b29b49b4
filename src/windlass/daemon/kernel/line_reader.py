"""Files that agents and their CLIs append to, read by offset: whole lines, each once.

Owns bytes and lines only. Nothing that may stand in a file's place is a reason to fail or to wait,
and a file that became shorter, or another one, is read from its beginning: all of it is new.

A line that is too long is nobody's: its beginning is read once, and then it is passed over, however
long it is. An offset that is not behind the end of a line is in the middle of such a one.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from windlass.daemon.kernel import untrusted_files

LONGEST_LINE = 4 << 20
"""Bytes. A model says at most some hundred thousand tokens in one answer, half a megabyte, and a
line has one part of that. Longer ones hold pictures and documents that an agent CLI was given:
nothing in those is asked for."""
_READ_AT_ONCE = 1 << 20
_LINES_AT_ONCE = 2500
"""A line takes a hundred bytes of memory however short it is: a file may be all line ends."""
_PASSED_AT_ONCE = 16 << 20
_CHUNK = 256 << 10

_OURS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO)
"""What keeps us from reading a file that is there: nothing is missing in it because of that."""


class FileOffset(NamedTuple):
    """How far a file was read, and which file it was; 0 where that was not written down."""

    offset: int = 0
    inode: int = 0


class Line(NamedTuple):
    """A line without its end, and the offset behind that."""

    text: bytes
    end: int


class Part(NamedTuple):
    """Some whole lines of a file: where they begin, and where to read on.

    Where that is behind the place that was known, there may be more, also if there are no lines.
    `overlong` says that a line was found to be too long, and is passed over from now on.
    """

    start: int
    lines: list[Line]
    place: FileOffset
    overlong: bool = False


def whole_lines(
    path: str | Path, known: FileOffset, *, most: int | None = None, below: Path | None = None
) -> Part:
    """What `plain_lines` finds; nothing where something else stands in the file's place.

    Raises OSError only where the fault is ours.
    """
    try:
        return plain_lines(path, known, most=most, below=below)
    except OSError as error:
        if error.errno in _OURS:
            raise
        return Part(known.offset, [], known)


def plain_lines(
    path: str | Path,
    known: FileOffset,
    *,
    most: int | None = None,
    longest: int | None = None,
    below: Path | None = None,
) -> Part:
    """The lines from a place on that are whole: not all that there are, and one at least if any.

    What has no end after `longest` bytes is passed over, some of it at a time. A file that is
    missing has no lines; raises OSError for one that cannot be read and for what is no plain file,
    or lies below a link in the folder `below`.
    """
    try:
        descriptor = untrusted_files.descriptor(path, below=below)
    except FileNotFoundError:
        return Part(known.offset, [], known)
    try:
        status = os.fstat(descriptor)
        same = known.inode in (0, status.st_ino) and status.st_size >= known.offset
        place = known if same else FileOffset(0, status.st_ino)
        if place.offset and os.pread(descriptor, 1, place.offset - 1) != b"\n":
            return Part(place.offset, [], FileOffset(_passed(descriptor, place), status.st_ino))
        longest = longest or LONGEST_LINE
        data = _data(descriptor, place.offset, most or _READ_AT_ONCE, longest)
    finally:
        os.close(descriptor)
    if not data:
        return Part(place.offset, [], place)
    if not data.endswith(b"\n"):
        end = FileOffset(place.offset + len(data), status.st_ino)
        return Part(place.offset, [], end, overlong=True)
    lines = list(_split(data, place.offset))
    return Part(place.offset, lines, FileOffset(lines[-1].end, status.st_ino))


def _data(descriptor: int, offset: int, most: int, longest: int) -> bytes:
    """What can be read up to the end of a line; without one only what is too long for a line."""
    data = os.pread(descriptor, min(most, longest), offset)
    if end := data.rfind(b"\n") + 1:
        return data[:end]
    if not data:
        return data
    data = os.pread(descriptor, longest + 1, offset)
    if end := data.find(b"\n") + 1:
        return data[:end]
    return data if len(data) > longest else b""


def _passed(descriptor: int, place: FileOffset) -> int:
    """Where to go on in a line that is passed over: behind its end, if that is near enough."""
    offset, last = place.offset, place.offset + _PASSED_AT_ONCE
    while offset < last and (data := os.pread(descriptor, _CHUNK, offset)):
        if end := data.find(b"\n") + 1:
            return offset + end
        offset += len(data)
    return offset


def _split(data: bytes, end: int) -> Iterator[Line]:
    for text in data.split(b"\n", _LINES_AT_ONCE)[:-1]:
        end += len(text) + 1
        yield Line(text, end)
