"""Files that agents could have made: opened without following links, waiting, or reading for ever.

Whatever stands in a file's place (a link, a pipe, a device, gigabytes) is no reason to hang, and no
way to have us read something else.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_MOST_FILES = 100_000


class NotPlain(OSError):
    """What is there is no plain file."""


def descriptor(path: str | Path, *, within: int | None = None) -> int:
    """Opens a plain file for reading, `within` an open folder; the caller closes it."""
    how = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    opened = os.open(path, how, dir_fd=within)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise NotPlain(f"{path} is no plain file")
    return opened


def read(path: str | Path, *, most: int, within: int | None = None) -> bytes:
    """Reads a plain file, at most so much of it."""
    with os.fdopen(descriptor(path, within=within), "rb") as file:
        return file.read(most)


def copy(source: str | Path, target: Path, *, most: int) -> None:
    """Copies a plain file that is no larger than that, to a place of our own."""
    with os.fdopen(descriptor(source), "rb") as old:
        if os.fstat(old.fileno()).st_size > most:
            raise NotPlain(f"{source} is larger than {most} bytes")
        with target.open("wb") as new:
            left = most
            while left > 0 and (chunk := old.read(min(left, 1 << 20))):
                new.write(chunk)
                left -= len(chunk)


def files(folder: Path) -> Iterator[Path]:
    """Every plain file below a folder, however deep; links are not followed."""
    waiting = [folder]
    seen = 0
    while waiting and seen < _MOST_FILES:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                seen += 1
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    yield Path(entry.path)
