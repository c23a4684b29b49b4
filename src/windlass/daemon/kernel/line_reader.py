"""Files that agents and their CLIs append to, read by offset: whole lines, each once.

Owns bytes and lines only. Nothing that may stand in a file's place is a reason to fail or to wait,
and a file that became shorter, or another one, is read from its beginning: all of it is new.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from windlass.daemon.kernel import untrusted_files
from windlass.git import workspace_state

log = logging.getLogger(__name__)

_READ_AT_ONCE = 4 << 20
_LONGEST_LINE = 64 << 20
_DEEPEST = 3
_MOST_FILES = 2000


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
    """Some whole lines of a file: where they begin, and where to read on."""

    start: int
    lines: list[Line]
    place: FileOffset


def whole_lines(path: str | Path, known: FileOffset, *, most: int | None = None) -> Part:
    """What `plain_lines` finds; nothing where something else stands in the file's place.

    Raises OSError only where the fault is ours.
    """
    try:
        return plain_lines(path, known, most=most)
    except OSError as error:
        if error.errno in _OURS:
            raise
        return Part(known.offset, [], known)


def plain_lines(path: str | Path, known: FileOffset, *, most: int | None = None) -> Part:
    """The lines from a place on that are whole: not all that there are, and one at least if any.

    What has no end after 64 MiB is nobody's line: of that only a beginning is returned, and the
    next part begins behind it. A file that is missing has no lines; raises OSError for one that
    cannot be read and for what is no plain file.
    """
    nothing = Part(known.offset, [], known)
    try:
        descriptor = untrusted_files.descriptor(path)
    except FileNotFoundError:
        return nothing
    try:
        status = os.fstat(descriptor)
        same = known.inode in (0, status.st_ino) and status.st_size >= known.offset
        start = known.offset if same else 0
        data = _data(descriptor, start, most or _READ_AT_ONCE)
    finally:
        os.close(descriptor)
    if not data:
        return nothing if same else Part(0, [], FileOffset(0, status.st_ino))
    place = FileOffset(start + len(data), status.st_ino)
    if not data.endswith(b"\n"):
        return Part(start, [Line(data[:_READ_AT_ONCE], place.offset)], place)
    lines: list[Line] = []
    end = start
    for text in data.split(b"\n")[:-1]:
        end += len(text) + 1
        lines.append(Line(text, end))
    return Part(start, lines, place)


def _data(descriptor: int, offset: int, most: int) -> bytes:
    """What can be read up to the end of a line; without one only what is too long for a line."""
    data = os.pread(descriptor, most, offset)
    while data and b"\n" not in data and len(data) < _LONGEST_LINE:
        more = os.pread(descriptor, _READ_AT_ONCE, offset + len(data))
        if not more:
            return b""
        data += more
    return data[: data.rfind(b"\n") + 1] or data


def read(
    transcript: Path, known: Mapping[str, list[int]]
) -> tuple[dict[str, list[int]], list[bytes]]:
    """New whole lines of a conversation and its subagents', and how far that goes in each file."""
    places: dict[str, list[int]] = {}
    lines: list[bytes] = []
    room = _READ_AT_ONCE
    for path in _files(transcript):
        name = str(path.relative_to(transcript.parent))
        try:
            part = whole_lines(path, FileOffset(*known.get(name, ())), most=room)
        except OSError as error:
            log.debug("cannot read %s: %s", path, error)
            continue
        if not part.lines:
            continue
        places[name] = list(part.place)
        lines += [line.text for line in part.lines]
        room -= part.place.offset - part.start
        if room <= 0:
            break
    return places, lines


def _files(transcript: Path) -> Iterator[Path]:
    yield transcript
    folders = [transcript.with_suffix("") / "subagents"]
    if not all(
        workspace_state.is_folder(str(folder)) for folder in (folders[0].parent, folders[0])
    ):
        return
    conversations: list[Path] = []
    for depth in range(_DEEPEST):
        deeper: list[Path] = []
        for folder in folders:
            deeper += _listed(folder, conversations)
        folders = deeper[:_MOST_FILES] if depth + 1 < _DEEPEST else []
    yield from sorted(conversations)


def _listed(folder: Path, conversations: list[Path]) -> list[Path]:
    """Adds a folder's conversations to those found; returns its folders. Links are not followed."""
    below = []
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, _MOST_FILES):
                if entry.is_dir(follow_symlinks=False):
                    below.append(folder / entry.name)
                elif fnmatchcase(entry.name, "agent-*.jsonl") and len(conversations) < _MOST_FILES:
                    conversations.append(folder / entry.name)
    except OSError as error:
        log.debug("cannot list the subagents in %s: %s", folder, error)
    return below
