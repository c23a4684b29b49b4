"""What paths have in an index and in commits: a mode and an object id, or nothing.

Owns reading and setting that. The files of a work tree are others' to look at.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from windlass.git import long_lists
from windlass.git.bounds import Patience
from windlass.git.names import is_dotgit
from windlass.git.runner import run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from windlass.git.environment import Dirs

EMPTY_TREE = {
    40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
"""The tree without files, which every git knows; by the length of ids."""
LINK = b"120000"
PLAIN = (b"100644", b"100755")
_NOTHING = b"000000"
_UNMERGED = b"unmerged"
_LEFT_OUT = b"S"
"""How git marks what a sparse checkout leaves out."""


class Entry(NamedTuple):
    """What stands at a path."""

    mode: bytes
    oid: bytes


class Side(enum.Enum):
    """One of the two commits that a checkout is moved between."""

    OLD = "old"
    NEW = "new"


class Change(msgspec.Struct, frozen=True):
    """One path that differs between the two commits; None where it has nothing."""

    path: bytes
    old: Entry | None
    new: Entry | None

    def on(self, side: Side) -> Entry | None:
        """Gives what stands at the path in one of the commits."""
        return self.old if side is Side.OLD else self.new


class Index(msgspec.Struct, frozen=True):
    """The entries of an index, and which of them have no file because the checkout is sparse."""

    entries: dict[bytes, Entry]
    left_out: frozenset[bytes]

    def is_at(self, side: Side, changes: Iterable[Change]) -> bool:
        """Says whether every path that differs is as one of the commits has it."""
        return all(self.entries.get(change.path) == change.on(side) for change in changes)


def read(dirs: Dirs) -> Index:
    """Reads the index; what is in conflict equals no entry of a commit."""
    listed = run(["ls-files", "-s", "-t", "-z"], dirs=dirs, timeout=Patience().left).out
    entries, left_out = {}, set()
    for record in long_lists.records(listed):
        about, _, path = record.partition(b"\t")
        tag, mode, oid, stage = about.split(b" ")
        entries[path] = Entry(mode, oid if stage == b"0" else _UNMERGED)
        if tag == _LEFT_OUT:
            left_out.add(path)
    return Index(entries, frozenset(left_out))


def between(dirs: Dirs, old: str, new: str, *, only: str = "") -> list[Change]:
    """Lists the paths that differ between two commits, without names that git refuses to write.

    `only` is a pathspec.
    """
    words = ["-r", "--no-renames", "--ignore-submodules=none", "--raw", "-z", old, new, "--"]
    said = run(["diff-tree", *words, *filter(None, [only])], dirs=dirs, timeout=Patience().left)
    fields = long_lists.records(said.out)
    changes = []
    for about, path in zip(fields, fields, strict=False):
        old_mode, new_mode, old_oid, new_oid, _ = about.lstrip(b":").split(b" ")
        if not _is_odd(path):
            changes.append(Change(path, _entry(old_mode, old_oid), _entry(new_mode, new_oid)))
    return changes


def _entry(mode: bytes, oid: bytes) -> Entry | None:
    return Entry(mode, oid) if mode != _NOTHING else None


def _is_odd(path: bytes) -> bool:
    return any(name in (b"", b".", b"..") or is_dotgit(name) for name in path.split(b"/"))


def point(dirs: Dirs, changes: Iterable[Change], *, side: Side, left_out: frozenset[bytes]) -> None:
    """Sets entries to what one of the commits has; what a sparse checkout leaves out stays out."""
    gone, there, bare = [], [], []
    for change in changes:
        entry = change.on(side)
        if entry is None:
            gone.append(_NOTHING + b" " + _no_oid(change) + b"\t" + change.path)
            continue
        there.append(entry.mode + b" " + entry.oid + b"\t" + change.path)
        if change.path in left_out:
            bare.append(change.path)
    # A file and a folder of one name do not go together: what goes makes room first.
    feed(["update-index", "-z", "--index-info"], [*gone, *there], dirs=dirs)
    feed(["update-index", "--skip-worktree", "-z", "--stdin"], bare, dirs=dirs)


def _no_oid(change: Change) -> bytes:
    return b"0" * max(len(entry.oid) for entry in (change.old, change.new) if entry is not None)


def feed(args: list[str], lines: list[bytes], *, dirs: Dirs, timeout: float | None = None) -> None:
    """Has git read lines that end with NUL; does not start it for none."""
    if lines:
        within = Patience().left if timeout is None else timeout
        run(args, dirs=dirs, stdin=b"\0".join(lines) + b"\0", timeout=within)
