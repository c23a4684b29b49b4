"""Whether a salvage made after others of the same work holds anything that those do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.git import long_lists
from windlass.git.bounds import LONG
from windlass.git.manifest import NAME
from windlass.git.runner import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windlass.git.quarantine import Quarantine

_OF_ITSELF = (NAME.encode(), b"gitdir.tar")
"""What differs between any two: refs and commits are compared, and not the files they are in."""


def adds_nothing(inside: Quarantine, commit: str, earlier: Sequence[str]) -> bool:
    """Says whether the earlier ones hold every file and every commit of a salvage."""
    had = {entry for one in earlier for entry in _entries(inside, one)}
    # What was staged and is as HEAD has it has no tree of its own there.
    had |= {(b"index/" + path.removeprefix(b"files/"), what) for path, what in had}
    new = {entry for entry in _entries(inside, commit) if entry[0] not in _OF_ITSELF}
    if not new <= had:
        return False
    walk = ["rev-list", "--count", f"{commit}^@", "--not", *earlier]
    return int(run(walk, dirs=inside.dirs, timeout=LONG).out) == 0


def _entries(inside: Quarantine, commit: str) -> list[tuple[bytes, bytes]]:
    listed = run(["ls-tree", "-r", "-z", "--full-tree", commit], dirs=inside.dirs, timeout=LONG).out
    pairs = (record.partition(b"\t") for record in long_lists.records(listed) if record)
    return [(path, about) for about, _, path in pairs]
