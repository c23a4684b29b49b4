"""Which files git tracks in a work tree, read from its index, for commands that run no git.

What is tracked may have come with anybody's change; what is not has been put there on this machine.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

from windlass.project import folder, git_files

_MOST = 256 << 20
_HASHES = (20, 32)
"""Bytes of an object's id: the index does not say which a repository has."""
_STAT = 40
_EXTENDED = 0x4000
_VERSIONS = (2, 3, 4)
_SHARED = b"link"
"""The extension of an index that has most of its entries in another file."""


class _Unread(Exception):
    """An index that is not written as it is read here."""


def tracks(path: str) -> bool:
    """Whether git tracks a file: so it is taken where nobody can tell, and not without a work tree.

    The file may be gone; the folder that it is in is there.
    """
    place = os.path.realpath(os.path.dirname(path))
    top = next((above for above in folder.upward(place) if _has_git(above)), None)
    if top is None:
        return False
    name = os.path.relpath(os.path.join(place, os.path.basename(path)), top)
    try:
        with open(os.path.join(git_files.git_folder(top), "index"), "rb") as file:
            held = file.read(_MOST + 1)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    names = None if len(held) > _MOST else _names(held)
    return names is None or os.fsencode(name) in names


def _has_git(place: str) -> bool:
    return os.path.lexists(os.path.join(place, ".git"))


def _names(index: bytes) -> set[bytes] | None:
    """The paths in an index; None where it cannot be read."""
    for length in _HASHES:
        try:
            return set(_entries(index, length))
        except (_Unread, struct.error, IndexError):
            continue
    return None


def _entries(index: bytes, length: int) -> Iterator[bytes]:
    """The paths of an index whose ids have so many bytes, in their order."""
    mark, version, count = struct.unpack_from(">4sII", index)
    if mark != b"DIRC" or version not in _VERSIONS:
        raise _Unread
    at, last = 12, b""
    for _ in range(count):
        begin, at = at, at + _STAT + length
        (flags,) = struct.unpack_from(">H", index, at)
        at += 4 if flags & _EXTENDED else 2
        kept = 0
        if version == max(_VERSIONS):
            removed, at = _number(index, at)
            kept = len(last) - removed
        end = index.find(b"\0", at)
        if end < 0 or kept < 0:
            raise _Unread
        name = last[:kept] + index[at:end]
        if not name or name < last:
            raise _Unread
        yield name
        last = name
        at = end + 1 if version == max(_VERSIONS) else begin + (end - begin + 8) // 8 * 8
    _require_whole(index, at, length)


def _number(index: bytes, at: int) -> tuple[int, int]:
    """A number as git packs it, and where it ends."""
    value = index[at] & 0x7F
    while index[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (index[at] & 0x7F)
    return value, at + 1


def _require_whole(index: bytes, at: int, length: int) -> None:
    """Refuses an index that goes on otherwise than with extensions and the sum of it all."""
    while at < len(index) - length:
        name, size = struct.unpack_from(">4sI", index, at)
        if name == _SHARED:
            raise _Unread
        at += 8 + size
    if at != len(index) - length:
        raise _Unread
