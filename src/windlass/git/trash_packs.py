"""Makes one pack of the many that salvages leave in the person's repository: one for each ending.

Nothing goes but the packs that are ours and whose every object is in the new one, also what no ref
reaches any more: that is for git's own garbage collection, with the person's settings of it. Packs
of anybody else, and a repository that keeps an index of all its packs, are left alone.
"""

from __future__ import annotations

import logging
import mmap
from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from windlass.core.errors import GitError
from windlass.git import manifest
from windlass.git.bounds import LONG
from windlass.git.quarantine import sync
from windlass.git.repository import Repository, object_format, refs_under
from windlass.git.runner import run

log = logging.getLogger(__name__)

MANY = 16
"""Packs of salvages that are let be."""
_HEADER = b"\xfftOc\x00\x00\x00\x02"
_FANOUT = 256 * 4
_OF_OTHERS = (".keep", ".promisor", ".mtimes", ".bitmap")
"""Beside a pack, these say that somebody else has plans with it."""
_OURS = (".idx", ".rev", ".pack")
"""What there is of a pack, in the order in which it goes: without an index nobody looks for it."""
_CONFIG = {
    "core.fsync": "committed,reference",
    "pack.threads": "1",
    "pack.writeBitmapHashCache": "false",
}


class Consolidated(NamedTuple):
    """How many packs became one, and how many bytes less that takes."""

    packs: int = 0
    size: int = 0


class _Pack(msgspec.Struct, frozen=True):
    stem: Path
    size: int
    oids: frozenset[bytes]

    def file(self, end: str) -> Path:
        return self.stem.with_name(self.stem.name + end)


def consolidate(repo: Repository, *, removes: bool = True) -> Consolidated:
    """Makes one pack of those of salvages, where these are many.

    One that is larger than twice all smaller ones together is not written again. Where anything
    about it fails, all packs stay.
    """
    folder = Path(repo.git_dir) / "objects" / "pack"
    if (folder / "multi-pack-index").exists() or (folder / "multi-pack-index.d").exists():
        return Consolidated()
    salvages = [bytes.fromhex(oid) for oid in refs_under(repo, manifest.TRASH).values()]
    width = 32 if object_format(repo) == "sha256" else 20
    chosen = _small(_ours(folder, salvages, width))
    before = sum(pack.size for pack in chosen)
    if len(chosen) <= MANY:
        return Consolidated()
    if not removes:
        return Consolidated(len(chosen))
    try:
        made = _written(repo, folder, chosen, width)
    except (GitError, OSError) as error:
        log.warning("the packs of salvages in %s stay as they are: %s", repo.git_dir, error)
        return Consolidated()
    for pack in chosen:
        for end in _OURS if pack.stem != made.stem else ():
            pack.file(end).unlink(missing_ok=True)
    return Consolidated(len(chosen), max(0, before - made.size))


def _ours(folder: Path, salvages: list[bytes], width: int) -> list[_Pack]:
    """The packs that have a salvage in them, and that nobody else has plans with."""
    found = []
    for index in sorted(folder.glob("pack-*.idx")):
        stem = index.with_suffix("")
        if any(stem.with_name(stem.name + end).exists() for end in _OF_OTHERS):
            continue
        if _has_any(index, salvages, width):
            size = sum(file.stat().st_size for file in folder.glob(f"{stem.name}.*"))
            found.append(_Pack(stem, size, _oids(index, width)))
    return found


def _small(packs: list[_Pack]) -> list[_Pack]:
    """Leaves out those that are larger than twice all smaller ones together."""
    chosen: list[_Pack] = []
    for pack in sorted(packs, key=lambda pack: pack.size):
        if chosen and pack.size > 2 * sum(other.size for other in chosen) and len(chosen) > MANY:
            break
        chosen.append(pack)
    return chosen


def _written(repo: Repository, folder: Path, packs: Iterable[_Pack], width: int) -> _Pack:
    """Writes a pack of everything in others; raises unless all of it is there."""
    wanted = frozenset[bytes]().union(*(pack.oids for pack in packs))
    names = b"".join(oid.hex().encode() + b"\n" for oid in sorted(wanted))
    args = ["pack-objects", "-q", "--delta-base-offset", str(folder / "pack")]
    said = run(args, dirs=repo.dirs, stdin=names, config=_CONFIG, timeout=LONG).out.decode().split()
    if len(said) != 1:
        raise GitError(f"git made {len(said)} packs and not one", "set pack.packSizeLimit to 0")
    stem = folder / f"pack-{said[0]}"
    made = _Pack(stem, 0, _oids(stem.with_name(f"{stem.name}.idx"), width))
    if lacking := wanted - made.oids:
        raise GitError(f"{made.stem} lacks {len(lacking)} objects", "look at the disk")
    sync([str(made.file(".pack")), str(made.file(".idx")), str(folder)])
    size = sum(file.stat().st_size for file in folder.glob(f"{stem.name}.*"))
    return msgspec.structs.replace(made, size=size)


def _has_any(index: Path, oids: list[bytes], width: int) -> bool:
    with index.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        names = _Names(data, width)
        return any(names.has(oid) for oid in oids)


def _oids(index: Path, width: int) -> frozenset[bytes]:
    with index.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        names = _Names(data, width)
        return frozenset(names[number] for number in range(len(names)))


class _Names:
    """The ids in an index of a pack, which has them in order; see git's gitformat-pack(5)."""

    def __init__(self, data: mmap.mmap, width: int) -> None:
        self._data, self._width = data, width
        known = data[: len(_HEADER)] == _HEADER
        end = len(_HEADER) + _FANOUT
        self._begin = end
        self._count = int.from_bytes(data[end - 4 : end], "big") if known else 0

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> bytes:
        at = self._begin + number * self._width
        return self._data[at : at + self._width]

    def has(self, oid: bytes) -> bool:
        """Whether an id is among them."""
        at = bisect_left(self, oid)
        return at < self._count and self[at] == oid
