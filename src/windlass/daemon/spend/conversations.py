"""The conversations that an agent has been in, and its subagents': what is new in them.

An agent says itself which conversation it goes on in. So all that it ever was in are read on, those
first that were read longest ago: it can neither make up so many, nor write so much into one, that
another is passed over. What keeps one from being read is told, and never taken for silence.
"""

from __future__ import annotations

import itertools
import logging
import os
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from windlass.daemon.kernel import line_reader, untrusted_files
from windlass.daemon.kernel.line_reader import FileOffset
from windlass.git import workspace_state

log = logging.getLogger(__name__)

MOST_FILES = 4096
"""That one agent may have. Each costs a look, at every look at its agent."""
_READ_AT_ONCE = 1 << 20
_LINES_AT_ONCE = 2500
_DEEPEST = 3
_MOST_ENTRIES = 8 * MOST_FILES
"""Of the folders in which they are looked for, all together."""

Places = dict[str, list[int]]
"""How far each file was read, by its name; those that were read last come last."""


class Flaw(NamedTuple):
    """What somebody made of conversations so that they are not read: of what, where, and which."""

    of: str
    path: Path
    what: str


class NewLines(NamedTuple):
    """What is new in an agent's conversations: how far that goes in each file, and the lines.

    `overlong` are the names of the files in which a line was found to be too long.
    """

    places: Places
    lines: list[bytes]
    overlong: list[str]
    flaw: Flaw | None


class _TooMany(Exception):
    """There are more conversations than one agent may have."""


def read(
    transcript: Path, known: Mapping[str, list[int]], *, below: Path | None = None
) -> NewLines:
    """Some of the new whole lines in an agent's conversations; `known` is as `Places`."""
    try:
        files = list(_unread(transcript, known))
    except _TooMany:
        what = f"has more than {MOST_FILES} conversations in it"
        return NewLines({}, [], [], Flaw("folder of conversations", transcript.parent, what))
    new = NewLines({}, [], [], None)
    room = _READ_AT_ONCE
    for name, path in files:
        before = FileOffset(*known.get(name, ()))
        try:
            part = line_reader.plain_lines(path, before, most=room, below=below)
        except OSError as error:
            if what := untrusted_files.made_so(error):
                new = new._replace(flaw=Flaw("conversation", path, what))
            else:
                log.debug("cannot read %s: %s", path, error)
            continue
        if part.place == before:
            continue
        new.places[name] = list(part.place)
        new.lines.extend(line.text for line in part.lines)
        if part.overlong:
            new.overlong.append(name)
        room -= part.place.offset - part.start
        if room <= 0 or len(new.lines) >= _LINES_AT_ONCE:
            break
    return new


def latest(transcript: Path, known: Places, read: Places) -> Places:
    """How far each file was read by now; those that are gone are forgotten where there are many."""
    places = {name: place for name, place in known.items() if name not in read} | read
    if len(places) <= MOST_FILES:
        return places
    return {name: at for name, at in places.items() if os.path.lexists(transcript.with_name(name))}


def _unread(transcript: Path, known: Mapping[str, list[int]]) -> Iterator[tuple[str, Path]]:
    """The files in which there may be something new, those first that were read longest ago."""
    others = (transcript.with_name(name) for name in known if "/" not in name)
    found: dict[str, Path] = {}
    entries = itertools.count(1)
    for conversation in dict.fromkeys((transcript, *others)):
        for path in _files(conversation, entries):
            found[str(path.relative_to(transcript.parent))] = path
            if len(found) > MOST_FILES:
                raise _TooMany
    order = {name: number for number, name in enumerate(known)}
    for name in sorted(found, key=lambda name: order.get(name, len(order))):
        if not _is_as_it_was(found[name], known.get(name)):
            yield name, found[name]


def _is_as_it_was(path: Path, known: list[int] | None) -> bool:
    """Whether a file has been read to its end: much cheaper than to open it."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return known == [status.st_size, status.st_ino]


def _files(conversation: Path, entries: Iterator[int]) -> Iterator[Path]:
    """A conversation that is there, and those of its subagents. Links are not followed.

    `entries` counts what was looked at.
    """
    if os.path.lexists(conversation):
        yield conversation
    folders = [conversation.with_suffix("") / "subagents"]
    if not all(map(workspace_state.is_folder, map(str, (folders[0].parent, folders[0])))):
        return
    for _ in range(_DEEPEST):
        deeper: list[Path] = []
        for folder in folders:
            yield from _listed(folder, deeper, entries)
        folders = deeper


def _listed(folder: Path, below: list[Path], entries: Iterator[int]) -> Iterator[Path]:
    """A folder's conversations; its folders are added to those `below`."""
    try:
        with os.scandir(folder) as listing:
            for entry in listing:
                if next(entries) > _MOST_ENTRIES:
                    raise _TooMany
                if entry.is_dir(follow_symlinks=False):
                    below.append(folder / entry.name)
                elif fnmatchcase(entry.name, "agent-*.jsonl"):
                    yield folder / entry.name
    except OSError as error:
        log.debug("cannot list the subagents in %s: %s", folder, error)
