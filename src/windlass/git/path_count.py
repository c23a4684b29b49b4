"""How many paths a commit has, counted no further than a limit.

A few tree objects that name each other many times are a hundred million paths. Whatever compares
such a tree unfolds it, so it is counted first, by a git with only so much memory and time, and
given up as soon as there are more.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from windlass.core.errors import GitError
from windlass.git import gitfiles, long_lists
from windlass.git.bounds import LOOK, MOST
from windlass.git.environment import Dirs, limited
from windlass.git.runner import TooMuchSaid, run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")

MOST_PATHS = 1_000_000
"""Files and folders that one commit may have, to be looked at."""
# With folders (`-t`): a tree of nothing but empty ones takes as long to walk.
_HEAD = struct.Struct(">4sII")
"""An index begins so: its mark, its version, and how many entries it has."""
_WALK = ("ls-tree", "-r", "-t", "-z", "--full-tree")


class TooManyPaths(GitError):
    """There are more paths than are looked at."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} has more than {MOST_PATHS:,} paths; not shown",
            "it cannot be looked at or merged; `wl kill` ends its agent and keeps everything",
        )


def require_few(dirs: Dirs, commit: str) -> None:
    """Refuses a commit that has too many paths; one that has few is remembered by its id.

    Git reads the commit outside of a box; `count` reads it in the box of `dirs`, if there is one.
    """
    _counted(dirs.git_dir, dirs.objects, commit)


@lru_cache(maxsize=1024)
def _counted(git_dir: str, objects: str | None, commit: str) -> int:
    return count(Dirs(git_dir=git_dir, objects=objects), commit)


def count(dirs: Dirs, commit: str) -> int:
    """Counts the files and folders of a commit; raises `TooManyPaths` for one that is too large."""
    mark = b".\0"
    try:
        said = run(
            [*_WALK, "--format=.", commit],
            dirs=dirs if dirs.box else limited(dirs),
            timeout=LOOK,
            most=MOST_PATHS * len(mark),
        )
    except TooMuchSaid as error:
        raise TooManyPaths(commit[:10]) from error
    return said.out.count(mark)


def require_small_index(dirs: Dirs) -> None:
    """Refuses an index that says that it has too many entries; with the one that it shares."""
    for name in gitfiles.index_files(dirs.git_dir):
        head = gitfiles.read_small(f"{dirs.git_dir}/{name}", limit=_HEAD.size) or b""
        if len(head) == _HEAD.size and _HEAD.unpack(head)[2] > MOST_PATHS:
            raise TooManyPaths("the index")


def few(answer: bytes, what: str, *, each: int = 1) -> Iterator[bytes]:
    """Yields the records of an answer; raises `TooManyPaths` before any of too many.

    So many of them are about each path.
    """
    if answer.count(b"\0") > MOST_PATHS * each:
        raise TooManyPaths(what)
    return long_lists.records(answer)


def first_of(entries: Iterable[T], what: str) -> Iterator[T]:
    """Yields what there is; raises `TooManyPaths` after as many as are looked at."""
    for number, entry in enumerate(entries):
        if number >= MOST_PATHS:
            raise TooManyPaths(what)
        yield entry


def listed(dirs: Dirs, commit: str, *, within: float) -> bytes:
    """Lists a commit's files and folders as `ls-tree` does; raises `TooManyPaths` for too many."""
    try:
        said = run([*_WALK, commit], dirs=dirs, timeout=within, most=MOST).out
    except TooMuchSaid as error:
        raise TooManyPaths(commit[:10]) from error
    if said.count(b"\0") > MOST_PATHS:
        raise TooManyPaths(commit[:10])
    return said
