"""The reports that tests write into files, found and read: by whoever was tested, so by anybody."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from windlass.core.gate import junit, patterns, printed_lines, reports
from windlass.core.gate.tally import TestReport
from windlass.daemon.kernel import untrusted_files
from windlass.git.walk import walk

_READ = 8 << 20
"""Bytes of the end of a log that are looked through for what a runner says at its end."""
_MOST_FILES = 500
_MOST_SEEN = 1_000_000
"""Files and folders that are looked at, where a pattern may lie anywhere."""
_LARGEST = 16 << 20


def read(log: Path, folders: tuple[tuple[Path, tuple[str, ...]], ...]) -> TestReport | None:
    """What a run says of its tests: files below folders that patterns name, and its output."""
    # One after the other, each gone before the next is read: together they may be gigabytes, and a
    # file of holes alone takes no room until then.
    documents = _bounded(file for each in folders for file in _found(*each))
    first = next(documents, None)
    counted = None
    if first is not None:
        try:
            counted = junit.read_junit(itertools.chain([first], documents))
        except junit.NotJUnit:
            counted = None  # then its output alone counts, and where that says nothing, nothing ran
    return reports.reconciled(counted, reports.read_output(end(log, _READ)))


def end(log: Path, most: int) -> str:
    """The last of what a run said; where more was said, a line says so."""
    with log.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - most))
        text = file.read(most).decode("utf-8", "replace")
    return text if size <= most else f"{printed_lines.CUT_LINE}\n{text}"


def _found(folder: Path, wanted: tuple[str, ...]) -> Iterator[bytes]:
    if not wanted or not folder.is_dir():
        return
    left = _MOST_FILES
    seen = walk(str(folder), enter=lambda name: patterns.may_hold(os.fsdecode(name), wanted))
    for entry in itertools.islice(seen, _MOST_SEEN):
        path = os.fsdecode(entry.path)
        if entry.kind != "file" or not patterns.matches(path, wanted):
            continue
        left -= 1
        if left < 0:
            return
        try:
            yield untrusted_files.read(folder / path, most=_LARGEST, below=folder)
        except OSError:  # a link, a pipe, or gone: no report
            continue


def _bounded(documents: Iterator[bytes]) -> Iterator[bytes]:
    """No more of them than are read: files with holes have any size, and here they are in memory.

    The one that is too much is given as well, so that whoever reads them knows.
    """
    size = 0
    while size <= junit.LARGEST and (document := next(documents, None)) is not None:
        size += len(document)
        yield document
