# ruff: noqa: PTH123
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Objects that come from a clone into quarantine, and how much of them may come.

An agent can have a few bytes unfold to any size, in memory and on a disk. So what is sent has an
end, git that takes it in has only so much memory and time, every id is computed again, and what has
come is measured before anything of it leaves the quarantine.
"""

from __future__ import annotations

import os
import sys
import tempfile
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Literal

import msgspec

from windlass.core.errors import GitError
from windlass.git.environment import limited
from windlass.git.quarantine import sync
from windlass.git.runner import run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from windlass.git.environment import Dirs
    from windlass.git.quarantine import Quarantine

_MOST_OF_A_TREE = 64 << 20
"""Bytes of anything but a file's content: git has all of it in memory, whenever it looks at it."""
_HINT = "commit less at once, or raise the limit"
_AT_ONCE = {"core.fsync": "loose-object", "core.fsyncMethod": "batch"}
_COUNT = slice(8, 12)
"""Where a pack says how many objects are in it."""
_FEW = 100
_SMALL = 1 << 20
"""Of fewer objects, and of fewer bytes in them, no pack is kept."""
# An index or a graph of the agent's own could leave out what it likes.
_ITS_OWN_WORD = {"core.commitGraph": "false", "core.multiPackIndex": "false"}


class Allowed(msgspec.Struct, frozen=True, kw_only=True):
    """How much may come at once, in bytes."""

    added: int = sys.maxsize
    """That the object store may grow by."""
    unfolded: int = sys.maxsize
    """Of all objects together, as they are when they are read."""
    blob: int = sys.maxsize
    """Of one file, as it is when it is read."""


EVERYTHING = Allowed()


Limit = Literal["added", "unfolded", "blob", "object"]
"""Which limit is exceeded: one of `Allowed`, or how large an object git can hold in memory."""


class TooLarge(GitError):
    """It is more than may come, and nothing of it has."""

    def __init__(self, message: str, hint: str, limit: Limit) -> None:
        super().__init__(message, hint)
        self.limit = limit


class Measured(msgspec.Struct, frozen=True):
    """How many objects have come, and how large they are when they are read."""

    number: int
    unfolded: int


def receive(
    inside: Quarantine,
    *,
    seen: Dirs,
    walk: bytes,
    allowed: Allowed,
    timeout: float,
    config: Mapping[str, str] = MappingProxyType({}),
) -> Measured:
    """Has git that sees the clone send what a walk reaches, and takes it into quarantine."""
    # Unbuffered: git goes on reading where we are.
    with tempfile.TemporaryFile(dir=inside.folder, buffering=0) as pack:
        try:
            run(
                ["pack-objects", "-q", "--revs", "--stdout", "--delta-base-offset"],
                dirs=seen,
                stdin=walk,
                sink=pack,
                config={**config, **_ITS_OWN_WORD},
                timeout=timeout,
            )
        except GitError:
            # A box ends whoever writes more than it may, without a word.
            _refuse_long(pack.fileno(), allowed)
            raise
        _refuse_long(pack.fileno(), allowed)
        if not _holds_something(pack):
            return Measured(0, 0)
        _take_in(inside, pack, timeout)
    return _measure(inside, allowed, timeout)


def _holds_something(pack: IO[bytes]) -> bool:
    """Whether there is an object in a pack, which is at its beginning afterwards."""
    pack.seek(0)
    header = pack.read(12)
    pack.seek(0)
    return any(header[_COUNT])


def _take_in(inside: Quarantine, pack: IO[bytes], timeout: float) -> None:
    words = ["index-pack", "--stdin", "--strict"]
    try:
        # Whoever keeps it has the disk have it; most of it is not kept as it is.
        run(
            words,
            dirs=limited(inside.dirs),
            source=pack,
            config={"core.fsync": "none"},
            timeout=timeout,
        )
    except GitError as error:
        if "Out of memory" in error.message:
            more = "an object in it takes more memory to be unfolded than there is for it"
            raise TooLarge(more, _HINT, "object") from error
        raise


def settle(inside: Quarantine, found: Measured) -> None:
    """Writes what has come to the disk: much as the pack that it is, little as single objects.

    That is what git does when it fetches: the person's own git packs single objects when there are
    many. One pack for each fetch would soon be too many.
    """
    if found.number >= _FEW or found.unfolded >= _SMALL:
        sync(inside.packs())
        return
    for path in inside.take_packs_out():
        with open(path, "rb") as pack:
            run(["unpack-objects", "-q"], dirs=inside.dirs, source=pack, config=_AT_ONCE)


def _refuse_long(pack: int, allowed: Allowed) -> None:
    if os.fstat(pack).st_size > allowed.added:
        raise TooLarge("it adds more than there is room for", _HINT, "added")


def _measure(inside: Quarantine, allowed: Allowed, timeout: float) -> Measured:
    """Asks how large each object that came is; refuses what is more than may be."""
    form = "--batch-check=%(objecttype) %(objectsize)"
    words = ["cat-file", "--batch-all-objects", "--unordered", form]
    said = run(words, dirs=limited(inside.alone), timeout=timeout).out
    number = unfolded = 0
    for line in said.splitlines():
        kind, _, digits = line.partition(b" ")
        size = int(digits)
        if kind == b"blob" and size > allowed.blob:
            raise TooLarge(f"a file in it has {size >> 20} MiB", _HINT, "blob")
        if kind != b"blob" and size > _MOST_OF_A_TREE:
            raise TooLarge(f"a {kind.decode()} in it has {size >> 20} MiB", _HINT, "object")
        number, unfolded = number + 1, unfolded + size
    if unfolded > allowed.unfolded:
        raise TooLarge(f"it unfolds to {unfolded >> 20} MiB", _HINT, "unfolded")
    return Measured(number, unfolded)
