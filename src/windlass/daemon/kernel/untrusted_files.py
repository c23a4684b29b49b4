"""Files that agents could have made: opened without following links, waiting, or reading for ever.

Whatever stands in a file's place (a link, a pipe, a device, gigabytes) is no reason to hang, and no
way to have us read something else. The same holds for the folders on the way to it, from the one
that is given as `below`: that one is ours, and what is in it may be the agent's.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from windlass.git import holes
from windlass.git.erasure import erase

_MOST_FILES = 100_000
_MOST_HOLES = 1 << 20
_TRIES = 5
_PLAINLY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MADE_SO = {
    errno.ELOOP: "is a link",
    errno.ENOTDIR: "lies below a link, or below what is no folder",
    errno.EACCES: "cannot be read",
    errno.EPERM: "cannot be read",
    errno.ENXIO: "is no plain file",
    errno.ENODEV: "is no plain file",
    errno.EAGAIN: "is held by a lease",
}
"""What keeps a file from being read that somebody has made like that, and no fault of the disk."""


class NotPlain(OSError):
    """What is there is no plain file."""


def descriptor(path: str | Path, *, below: Path | None = None) -> int:
    """Opens a plain file for reading; the caller closes it.

    No link is followed in its place, nor in that of a folder `below` which it lies; a path that
    lies elsewhere is the person's own as far as its last part.
    """
    opened = _opened(Path(path), below)
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise NotPlain(f"{path} is no plain file")
    return opened


def _opened(path: Path, below: Path | None) -> int:
    if below is None or not path.is_relative_to(below):
        return os.open(path, _PLAINLY)
    *folders, name = path.relative_to(below).parts
    if ".." in folders:
        raise NotPlain(f"{path} leads out of {below}")
    at = os.open(below, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            deeper = os.open(folder, _FOLDER, dir_fd=at)
            os.close(at)
            at = deeper
        return os.open(name, _PLAINLY, dir_fd=at)
    finally:
        os.close(at)


def flaw(path: str | Path, *, most: int, below: Path | None = None) -> str:
    """What somebody made of a file that no program of ours would: empty if it is as it should be.

    One that is not there yet is as it should be; so is what only the disk keeps from being read.
    """
    try:
        opened = descriptor(path, below=below)
    except OSError as error:
        return made_so(error)
    try:
        size = os.fstat(opened).st_size
    finally:
        os.close(opened)
    return f"is larger than {_size(most)}" if size > most else ""


def made_so(error: OSError) -> str:
    """What somebody made of a file that could not be opened; empty where that is nobody's doing."""
    if isinstance(error, NotPlain):
        return "is no plain file"
    return _MADE_SO.get(error.errno or 0, "")


def _size(size: int) -> str:
    for unit, bits in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >> bits:
            return f"{size >> bits} {unit}"
    return f"{size} bytes"


def read(path: str | Path, *, most: int, below: Path | None = None) -> bytes:
    """Reads a plain file, at most so much of it."""
    with os.fdopen(descriptor(path, below=below), "rb") as file:
        return file.read(most)


def copy(source: str | Path, target: Path, *, most: int, below: Path | None = None) -> None:
    """Copies a plain file that is no larger than that, to a place of our own.

    Not one with holes, which take no room in it, and would take room in its copy.
    """
    with os.fdopen(descriptor(source, below=below), "rb") as old:
        if os.fstat(old.fileno()).st_size > most:
            raise NotPlain(f"{source} is larger than {most} bytes")
        if holes.size(old.fileno()) > _MOST_HOLES:
            raise NotPlain(f"{source} is full of holes")
        with target.open("wb") as new:
            left = most
            while left > 0 and (chunk := old.read(min(left, 1 << 20))):
                new.write(chunk)
                left -= len(chunk)


def is_empty(path: Path) -> bool:
    """Whether there is a plain file with nothing in it."""
    try:
        return not read(path, most=1)
    except OSError:
        return False


def make_plain(folder: Path, name: str) -> None:
    """Sees to it that a folder has a plain file of that name, whatever somebody put in its place.

    What is in such a file stays as it is.
    """
    at = os.open(folder, _FOLDER)
    try:
        for _ in range(_TRIES):
            with suppress(FileExistsError):
                how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                os.close(os.open(name, how, 0o600, dir_fd=at))
                return
            mode = os.stat(name, dir_fd=at, follow_symlinks=False).st_mode
            if stat.S_ISREG(mode):
                return
            if stat.S_ISDIR(mode):
                erase(str(folder / name))
            else:
                os.unlink(name, dir_fd=at)
    finally:
        os.close(at)
    raise NotPlain(f"somebody keeps putting something else in the place of {folder / name}")


def make_folder(folder: Path, name: str) -> None:
    """Sees to it that a folder has a real folder of that name, as `make_plain` does for a file."""
    at = os.open(folder, _FOLDER)
    try:
        for _ in range(_TRIES):
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=at)
                return
            if stat.S_ISDIR(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
                return
            os.unlink(name, dir_fd=at)
    finally:
        os.close(at)
    raise NotPlain(f"somebody keeps putting something else in the place of {folder / name}")


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
