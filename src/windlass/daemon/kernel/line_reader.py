"""Files that an agent CLI appends to: a conversation and those of its subagents, read by offset.

Owns bytes and lines only. Nothing that may stand in a file's place is a reason to fail or to wait.
"""

from __future__ import annotations

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


class FileOffset(NamedTuple):
    """How far a file was read, and which file it was."""

    offset: int = 0
    inode: int = 0


def read(
    transcript: Path, known: Mapping[str, list[int]]
) -> tuple[dict[str, list[int]], list[bytes]]:
    """New whole lines of a conversation and its subagents', and how far that goes in each file."""
    places: dict[str, list[int]] = {}
    lines: list[bytes] = []
    room = _READ_AT_ONCE
    for path in _files(transcript):
        name = str(path.relative_to(transcript.parent))
        data, place = _new(path, FileOffset(*known.get(name, ())), room)
        if place is None:
            continue
        places[name] = list(place)
        lines += data.split(b"\n")
        room -= len(data)
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
    found: list[Path] = []
    for depth in range(_DEEPEST):
        deeper: list[Path] = []
        for folder in folders:
            deeper += _listed(folder, found)
        folders = deeper[:_MOST_FILES] if depth + 1 < _DEEPEST else []
    yield from sorted(found)


def _listed(folder: Path, found: list[Path]) -> list[Path]:
    """Adds a folder's conversations to those found; returns its folders. Links are not followed."""
    below = []
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, _MOST_FILES):
                if entry.is_dir(follow_symlinks=False):
                    below.append(folder / entry.name)
                elif fnmatchcase(entry.name, "agent-*.jsonl") and len(found) < _MOST_FILES:
                    found.append(folder / entry.name)
    except OSError as error:
        log.debug("cannot list the subagents in %s: %s", folder, error)
    return below


def _new(path: Path, known: FileOffset, room: int) -> tuple[bytes, FileOffset | None]:
    """What is new in one file up to its last whole line; None where nothing is."""
    try:
        descriptor = untrusted_files.descriptor(path)
    except OSError:
        return b"", None
    try:
        found = os.fstat(descriptor)
        same = found.st_ino == known.inode and found.st_size >= known.offset
        offset = known.offset if same else 0
        if found.st_size == offset:
            return b"", None
        data = _whole_lines(descriptor, offset, room)
    except OSError as error:
        log.debug("cannot read %s: %s", path, error)
        return b"", None
    finally:
        os.close(descriptor)
    return data, FileOffset(offset + len(data), found.st_ino) if data else None


def _whole_lines(descriptor: int, offset: int, room: int) -> bytes:
    data = os.pread(descriptor, room, offset)
    while data and b"\n" not in data and len(data) < _LONGEST_LINE:
        more = os.pread(descriptor, _READ_AT_ONCE, offset + len(data))
        if not more:
            return b""
        data += more
    # What has no end after so much is no line of a conversation; it is passed over.
    return data[: data.rfind(b"\n") + 1] or data
