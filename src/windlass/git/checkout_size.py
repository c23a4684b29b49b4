"""How much a commit takes on a disk when it is checked out, before anybody does so.

A tree may name one file a million times: in the object store it is there once, and in a workspace
that begins with the commit as often as it is named.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING

from windlass.git import long_lists
from windlass.git.bounds import LOOK, MOST
from windlass.git.environment import limited
from windlass.git.index_entries import EMPTY_TREE
from windlass.git.runner import TooMuchSaid, run

if TYPE_CHECKING:
    from windlass.git.environment import Dirs

_FILES = (b"100", b"120")


def added(dirs: Dirs, commit: str, *, since: str | None) -> int | None:
    """Bytes of the files that a commit has otherwise than another one, each as often as named.

    None where that are more files than are counted.
    """
    args = ["diff-tree", "-r", "-z", "--no-renames", "--no-abbrev", "--diff-filter=d"]
    base = since or EMPTY_TREE[len(commit)]
    try:
        said = run([*args, base, commit], dirs=limited(dirs), timeout=LOOK, most=MOST).out
    except TooMuchSaid:
        return None
    named = Counter(_oids(said))
    if not named:
        return 0
    asked = b"".join(oid + b"\n" for oid in named)
    form = "--batch-check=%(objectname) %(objectsize)"
    sizes = run(["cat-file", form], dirs=limited(dirs), stdin=asked, timeout=LOOK).out
    pairs = (line.split(b" ") for line in sizes.splitlines())
    return sum(named[oid] * int(size) for oid, size in pairs)


def _oids(said: bytes) -> list[bytes]:
    """What each changed file holds: every second field is a path, which is nobody's business."""
    found = []
    for about in itertools.islice(long_lists.records(said), 0, None, 2):
        words = about.split(b" ")
        if len(words) == 5 and words[1].startswith(_FILES):
            found.append(words[3])
    return found
