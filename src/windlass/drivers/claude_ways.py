# ruff: noqa: PTH112, PTH113
# (pathlib's raise where a folder on the way is closed)
"""A person's ways with Claude Code, copied for a boxed agent: memory, rules, skills and the like.

Owns which of them there are, what is copied and how much. Never settings, logins or plugins; where
the copies are seen in the box is the daemon's. `claude_servers` is about MCP servers.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from windlass.core.config import WAYS
from windlass.core.driver_request import SessionRequest
from windlass.core.session_launch import Remark
from windlass.drivers import claude_config

MOST_FILES = 2000
MOST_BYTES = 16 << 20
MOST_OF_A_FILE = 4 << 20
_DEEPEST = 8
_NAMED = 5
"""How many of what could not be copied are told by name."""
_PLAINLY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class _Left(Exception):
    """Something is not copied; says why."""


class _Found(NamedTuple):
    """A file to copy: where it really lies, and its name in the copy."""

    path: str
    name: str


def bring(request: SessionRequest, target: Path) -> list[Remark]:
    """Copies what is to come along to `target`, which is new; says what did not."""
    source = claude_config.folder(claude_config.of_person(request))
    copying = _Copying(target)
    for way in request.ways:
        copying.take(source / way)
    remarks = []
    if copying.left:
        some = ", ".join(copying.left[:_NAMED])
        more = f" and {len(copying.left) - _NAMED} more" if len(copying.left) > _NAMED else ""
        remarks.append(Remark(text=f"without {some}{more} of your {source}"))
    if idle := [way for way in WAYS if way not in request.ways and _is_there(source / way)]:
        fix = f"wl config add claude.bring {idle[0]} --global"
        remarks.append(Remark(text=f"without {', '.join(idle)} of your {source}", fix=fix))
    return remarks


def _is_there(place: Path) -> bool:
    try:
        return place.is_file() or any(place.iterdir())
    except OSError:
        return False


class _Copying:
    """Copies ways one by one, each part of one whole or not at all, until there is no more room."""

    def __init__(self, target: Path) -> None:
        self.left: list[str] = []
        self._target = target
        self._files = MOST_FILES
        self._bytes = MOST_BYTES

    def take(self, place: Path) -> None:
        """Takes a file, or each thing in a folder; the person may have put a link in its place."""
        root = os.path.realpath(place)
        if os.path.isfile(root):
            self._take_part(root, root, place.name)
        elif self._holds_more(root, place):
            self.left.append(f"{place.name} (leads to {root}, a folder with more in it)")
        elif os.path.isdir(root):
            try:
                names = _listed(root)
            except _Left as why:
                self.left.append(f"{place.name} ({why})")
                return
            for name in names:
                self._take_part(f"{root}/{name}", root, f"{place.name}/{name}")

    def _holds_more(self, root: str, place: Path) -> bool:
        """Whether a link leads to a folder that holds the configuration itself, or a home."""
        return _within(os.path.realpath(place.parent), root)

    def _take_part(self, path: str, root: str, name: str) -> None:
        try:
            found, size = self._measured(path, root, name)
        except _Left as why:
            self.left.append(f"{name} ({why})")
            return
        self._files -= len(found)
        self._bytes -= size
        for one in found:
            if not self._copy(one):
                self.left.append(f"{one.name} (closed to you, or no plain file)")

    def _measured(self, path: str, root: str, name: str) -> tuple[Sequence[_Found], int]:
        found: list[_Found] = []
        size = 0
        for one in _walk(path, root, name, depth=0):
            here = _size(one.path)
            if here > MOST_OF_A_FILE:
                raise _Left(f"has a file of more than {MOST_OF_A_FILE >> 20} MiB")
            size += here
            found.append(one)
            if len(found) > self._files or size > self._bytes:
                most = f"{MOST_FILES} files and {MOST_BYTES >> 20} MiB"
                raise _Left(f"all together is more than {most}")
        return found, size

    def _copy(self, one: _Found) -> bool:
        try:
            source = os.open(one.path, _PLAINLY)
        except OSError:
            return False
        with os.fdopen(source, "rb") as old:
            info = os.fstat(source)
            if not stat.S_ISREG(info.st_mode):
                return False
            held = old.read(MOST_OF_A_FILE)
        target = self._target / one.name
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = 0o700 if info.st_mode & stat.S_IXUSR else 0o600
        with os.fdopen(os.open(target, _NEW, mode), "wb") as new:
            new.write(held)
        return True


def _walk(path: str, root: str, name: str, *, depth: int) -> Iterator[_Found]:
    """The files of one part. A link is followed where it leads to something in the same way."""
    real = os.path.realpath(path)
    if not _within(real, root):
        raise _Left("leads elsewhere by a link")
    if any(part.startswith(".") for part in real[len(root) :].split("/")):
        raise _Left("leads to something hidden by a link")
    if depth > _DEEPEST:
        raise _Left("is too deep")
    if not os.path.isdir(real):
        yield _Found(real, name)
        return
    for below in _listed(real):
        yield from _walk(f"{real}/{below}", root, f"{name}/{below}", depth=depth + 1)


def _listed(folder: str) -> list[str]:
    """What lies in a folder, but for hidden things: repositories, environments, keys."""
    try:
        names = [path.name for path in Path(folder).iterdir()]
    except OSError:
        raise _Left("is closed to you") from None
    return sorted(name for name in names if not name.startswith("."))


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _within(place: str, folder: str) -> bool:
    return place == folder or place.startswith(f"{folder.rstrip('/')}/")
