"""What was put into a workspace for its agent to use: no work of the agent's while it is as it was.

Dependencies are thousands of files, and made again at any time. What the agent changes of them, and
what it adds, is its own like everything else.
"""

from __future__ import annotations

import os
import posixpath
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from windlass.git.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterable

    from windlass.git.walk import WalkEntry

Stamp = tuple[int, int, int]


class Provided(msgspec.Struct, frozen=True, dict=True):
    """The paths that were put there, and how each file below them was then."""

    paths: tuple[str, ...] = ()
    stamps: dict[str, Stamp] = {}

    def has(self, entry: WalkEntry) -> bool:
        """Whether something in the workspace is as it was put there, or a compiled form of that.

        Of folders: whether they lie in what was put there; something in them may be the agent's.
        """
        if not self._tops or not self.is_below(entry.path):
            return False
        if entry.kind == "folder":
            return True
        if entry.kind not in ("file", "link"):
            return False
        if entry.path.endswith(b".pyc") and b"/__pycache__/" in entry.path:
            return True
        return self.stamps.get(os.fsdecode(entry.path)) == _stamp(entry.info)

    def holds(self, folder: str, name: str) -> bool:
        """The same of one file by its name below the workspace's folder."""
        if name not in self.stamps:
            return False
        try:
            return _stamp(os.lstat(os.path.join(folder, name))) == self.stamps[name]  # noqa: PTH118
        except OSError:
            return False

    @cached_property
    def _tops(self) -> frozenset[bytes]:
        return frozenset(map(os.fsencode, self.paths))

    def is_below(self, path: bytes) -> bool:
        """Whether a path is one of those that were put there, or lies below one."""
        while path:
            if path in self._tops:
                return True
            path = posixpath.dirname(path)
        return False


NOTHING = Provided()


def take(folder: str, paths: Iterable[str]) -> Provided:
    """Notes how everything is that was put into a workspace's folder, in which nobody works yet."""
    stamps = {}
    named = tuple(paths)
    inner = Provided(named)
    for entry in walk(folder, enter=lambda path: inner.is_below(path) or _leads(path, named)):
        if entry.kind in ("file", "link") and inner.is_below(entry.path):
            name = os.fsdecode(entry.path)
            if _is_text(name):
                stamps[name] = _stamp(entry.info)
    return Provided(named, stamps)


def _leads(path: bytes, named: tuple[str, ...]) -> bool:
    """Whether something that is named lies below a folder."""
    inside = os.fsdecode(path) + "/"
    return any(name.startswith(inside) for name in named)


def _is_text(name: str) -> bool:
    """Whether a name can be written down; what cannot counts as the agent's."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _stamp(info: os.stat_result) -> Stamp:
    return info.st_ino, info.st_mtime_ns, info.st_ctime_ns
