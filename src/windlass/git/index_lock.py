# ruff: noqa: PTH118
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""The `index.lock` of a checkout that we move, which keeps every other git out meanwhile.

Owns that file. Ours tells which move it is for, so that whoever finds it after its maker died
knows what was left half done. Only for callers that hold our own lock on the repository: whose
file it is cannot be seen from it otherwise.
"""

from __future__ import annotations

import os
import re

import msgspec

from windlass.core.errors import Conflict
from windlass.core.printable import printable_line
from windlass.git import gitfiles, long_lists

_NAME = "index.lock"
_OURS = re.compile(rb"windlass ([0-9a-f]{40,64})(?: ([0-9a-f]{40,64}))?\n(.*)", re.DOTALL)
_LISTS = {b"/": "made", b"=": "staged", b"-": "left_out"}
"""Which list of the move a name in the file is of, by what stands before it."""
_LIMIT = 16 << 20


class CheckoutBusy(Conflict):
    """Another git is at work in a checkout: it will end, and then it can be tried again."""


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A checkout's way from one commit to another."""

    old: str
    new: str
    made: frozenset[bytes] = frozenset()
    """The folders that were not there when it began."""
    staged: frozenset[bytes] = frozenset()
    """The paths that somebody had staged already, just as the new commit has them."""
    left_out: frozenset[bytes] = frozenset()
    """The paths that had no file, because the checkout is sparse."""


def path_in(git_dir: str) -> str:
    """Names the file, safe to print."""
    return printable_line(os.path.join(git_dir, _NAME))


def take(top: int, move: Move, *, git_dir: str) -> None:
    """Makes the lock in the git folder that is open as `top`, or says that another git has it."""
    try:
        # In one step: an empty one would be taken for another git's, which nobody removes.
        gitfiles.make_at(top, _NAME, _told(move))
    except FileExistsError:
        raise CheckoutBusy(
            f"another git is working in this checkout: {path_in(git_dir)} exists",
            "wait for it to end; if none is running, delete that file",
        ) from None


def tell(top: int, move: Move) -> None:
    """Has the lock that we hold tell more of its move."""
    gitfiles.put_at(top, _NAME, _told(move))


def release(top: int) -> None:
    """Gives the lock back."""
    os.unlink(_NAME, dir_fd=top)


def left(top: int) -> Move | None:
    """Gives the move that a lock of ours was left for; None when there is none, or another git's.

    Older releases wrote the new commit alone, which is a merge into the old one.
    """
    try:
        told = gitfiles.read_at(top, _NAME, limit=_LIMIT)
    except OSError:
        return None
    found = _OURS.fullmatch(told)
    if found is None:
        return None
    new = found[1].decode()
    old = found[2].decode() if found[2] else f"{new}^1"
    names: dict[str, set[bytes]] = {field: set() for field in _LISTS.values()}
    for record in long_lists.records(found[3]):
        if (field := _LISTS.get(record[:1])) is not None:
            names[field].add(record[1:])
    lists = {field: frozenset(listed) for field, listed in names.items()}
    return Move(old=old, new=new, **lists)


def _told(move: Move) -> bytes:
    first = f"windlass {move.new} {move.old}\n".encode()
    names = (mark + name for mark, field in _LISTS.items() for name in sorted(getattr(move, field)))
    return first + b"\0".join(names)
