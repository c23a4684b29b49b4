"""Clones whose few bytes unfold to many: what an agent could have made of its objects."""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from pathlib import Path

from tests.git.conftest import git

_BLOB, _DELTA = 3, 6


def unfolding(clone: Path, *, files: int, times: int, size: int = 1 << 20) -> str:
    """Commits files that are each so many copies of one, as a pack little larger than that one.

    Gives the commit, to which the branch goes.
    """
    base = os.urandom(size)
    body = b"PACK" + struct.pack(">II", 2, files + 1)
    first = len(body)
    body += _header(_BLOB, size) + zlib.compress(base)
    oids = [hashlib.sha1(b"blob %d\0" % size + base, usedforsecurity=False).hexdigest()]
    for number in range(files):
        tail = b"%08d" % number
        told = _number(size) + _number(size * times + len(tail))
        told += _copy_of(size) * times + bytes([len(tail)]) + tail
        body += _header(_DELTA, len(told)) + _back(len(body) - first) + zlib.compress(told)
        digest = hashlib.sha1(b"blob %d\0" % (size * times + len(tail)), usedforsecurity=False)
        for _ in range(times):
            digest.update(base)
        digest.update(tail)
        oids.append(digest.hexdigest())
    body += hashlib.sha1(body, usedforsecurity=False).digest()
    name = hashlib.sha1(body, usedforsecurity=False).hexdigest()
    pack = clone / f".git/objects/pack/pack-{name}.pack"
    pack.write_bytes(body)
    git(clone, "index-pack", pack)
    entries = "".join(f"100644 blob {oid}\tfile{number}\n" for number, oid in enumerate(oids))
    return committed(clone, git(clone, "mktree", stdin=entries.encode()))


def zeros(clone: Path, size: int) -> str:
    """Commits a file of zeros; gives the commit."""
    big = clone.parent / "zeros"
    with big.open("wb") as file:
        file.truncate(size)
    blob = git(clone, "-c", "core.bigFileThreshold=1m", "hash-object", "-w", "--no-filters", big)
    big.unlink()
    return committed(clone, git(clone, "mktree", stdin=f"100644 blob {blob}\tz\n".encode()))


def nested_trees(clone: Path, *, levels: int = 8, each: int = 10) -> str:
    """Commits trees that each name the next so many times; gives the commit."""
    blob = git(clone, "hash-object", "-w", "--stdin", stdin=b"x\n")
    return _nested(clone, f"100644 blob {blob}", levels=levels, each=each)


def folders_of_nothing(clone: Path, *, levels: int = 8, each: int = 10) -> str:
    """The same without any file."""
    nothing = git(clone, "mktree", stdin=b"")
    return _nested(clone, f"040000 tree {nothing}", levels=levels, each=each)


def _nested(clone: Path, what: str, *, levels: int, each: int) -> str:
    for _ in range(levels):
        entries = "".join(f"{what}\t{number:04}\n" for number in range(each))
        tree = git(clone, "mktree", stdin=entries.encode())
        what = f"040000 tree {tree}"
    return committed(clone, tree)


def committed(clone: Path, tree: str) -> str:
    """Commits a tree on the branch, without a look at the one before; gives the commit."""
    somebody = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    tip = git(clone, *somebody, "commit-tree", tree, "-p", "HEAD", "-m", "bomb")
    git(clone, "update-ref", git(clone, "symbolic-ref", "HEAD"), tip)
    return tip


def _header(kind: int, size: int) -> bytes:
    """How a pack says what comes next, and how large that is."""
    first, size = kind << 4 | size & 15, size >> 4
    if not size:
        return bytes([first])
    return bytes([first | 0x80]) + _number(size)


def _number(value: int) -> bytes:
    said = b""
    while value > 0x7F:
        said += bytes([value & 0x7F | 0x80])
        value >>= 7
    return said + bytes([value])


def _back(distance: int) -> bytes:
    """How a delta says how far before it its base is."""
    said = [distance & 0x7F]
    while distance := distance >> 7:
        distance -= 1
        said.insert(0, distance & 0x7F | 0x80)
    return bytes(said)


def _copy_of(size: int) -> bytes:
    """The words of a delta for all of its base."""
    words = b""
    for start in range(0, size, 0xFFFF):
        length = min(0xFFFF, size - start)
        words += b"\xbf" + struct.pack("<I", start) + struct.pack("<H", length)
    return words
