"""What files of a workspace were like, to tell later whether they are so still.

A file is the same if its content and its kind are: one that came back from the trash has other
times and another place on the disk. Where those are as they were too, it is not read again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from typing import TYPE_CHECKING, Literal

import msgspec

from windlass.git import open_flags

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

MOST_FILES = 5_000
MOST_BYTES = 256 << 20
"""Beyond this nothing is remembered: reading it again and again would take too long."""
_CHUNK = 1 << 20


class Fingerprint(msgspec.Struct, frozen=True, kw_only=True):
    """What a file was like; `stamp` changes with whatever is done to it."""

    kind: Literal["absent", "link", "file", "program"]
    size: int = 0
    digest: str = ""
    stamp: tuple[int, int, int] = (0, 0, 0)


def take(folder: str, names: Iterable[str]) -> dict[str, Fingerprint]:
    """Remembers the files of those names below a folder; what is no file is left out."""
    taken: dict[str, Fingerprint] = {}
    room = MOST_BYTES
    for name in names:
        seen = _look(folder, name, room) if _is_text(name) else None
        if seen is None:
            continue
        taken[name] = seen
        room -= seen.size
        if len(taken) > MOST_FILES:
            return {}
    return taken


def unchanged(folder: str, names: Iterable[str], taken: Mapping[str, Fingerprint]) -> set[str]:
    """Says which of those names are as they were when they were remembered."""
    return {name for name in names if name in taken and _is_same(folder, name, taken[name])}


def _is_text(name: str) -> bool:
    """Whether a name can be written down; folders, which are nested repositories, have a slash."""
    return not name.endswith("/") and name.isprintable()


def _is_same(folder: str, name: str, was: Fingerprint) -> bool:
    with _parent(folder, name) as (parent, last):
        if parent is None:
            return was.kind == "absent"
        info = _stat(parent, last)
        if info is None or was.kind == "absent":
            return info is None and was.kind == "absent"
        if _stamp(info) == was.stamp:
            return True
        if info.st_size != was.size:
            return False
        now = _read(parent, last, info)
        return now is not None and (now.kind, now.digest) == (was.kind, was.digest)


def _look(folder: str, name: str, room: int) -> Fingerprint | None:
    with _parent(folder, name) as (parent, last):
        info = None if parent is None else _stat(parent, last)
        if parent is None or info is None:
            return Fingerprint(kind="absent")
        return _read(parent, last, info) if info.st_size <= room else None


def _read(parent: int, name: str, info: os.stat_result) -> Fingerprint | None:
    """What a link or a plain file is like; None for anything else, and for what is closed to us."""
    size, stamp = info.st_size, _stamp(info)
    try:
        if stat.S_ISLNK(info.st_mode):
            target = os.fsencode(os.readlink(name, dir_fd=parent))
            digest = hashlib.sha256(target).hexdigest()
            return Fingerprint(kind="link", size=size, digest=digest, stamp=stamp)
        if not stat.S_ISREG(info.st_mode):
            return None
        handle = os.open(name, open_flags.PLAIN, dir_fd=parent)
    except OSError:
        return None
    with os.fdopen(handle, "rb", buffering=0) as file:
        if _stamp(os.fstat(handle)) != stamp:
            return None  # it was exchanged this moment
        digest = _digest(file.read, size)
    kind: Literal["file", "program"] = "program" if info.st_mode & stat.S_IXUSR else "file"
    return Fingerprint(kind=kind, size=size, digest=digest, stamp=stamp)


def _digest(read: Callable[[int], bytes | None], size: int) -> str:
    """The digest of a file, of which no more is read than it had when it was looked at."""
    made = hashlib.sha256()
    while size > 0 and (chunk := read(min(_CHUNK, size))):
        made.update(chunk)
        size -= len(chunk)
    return made.hexdigest()


def _stamp(info: os.stat_result) -> tuple[int, int, int]:
    return info.st_ino, info.st_mtime_ns, info.st_ctime_ns


def _stat(parent: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except OSError:
        return None


@contextlib.contextmanager
def _parent(folder: str, name: str) -> Iterator[tuple[int | None, str]]:
    """Lends the open folder that a name is in; None where there is none, or a link on the way."""
    *parts, last = name.split("/")
    with contextlib.ExitStack() as held:
        here: int | None = None
        try:
            here = os.open(folder, open_flags.FOLDER)
            held.callback(os.close, here)
            for part in parts:
                here = os.open(part, open_flags.FOLDER, dir_fd=here)
                held.callback(os.close, here)
        except OSError:
            here = None
        yield here, last
