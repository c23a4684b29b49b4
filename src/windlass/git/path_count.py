"""How many paths a commit has, counted no further than a limit.

A few tree objects that name each other many times are a hundred million paths. Whatever compares
such a tree unfolds it, so it is counted first, by a git with only so much memory and time, and
given up as soon as there are more.
"""

from __future__ import annotations

from functools import lru_cache

from windlass.core.errors import GitError
from windlass.git.bounds import LOOK, MOST
from windlass.git.environment import Dirs, limited
from windlass.git.runner import TooMuchSaid, run

MOST_PATHS = 1_000_000
"""Files and folders that one commit may have, to be looked at."""
# With folders (`-t`): a tree of nothing but empty ones takes as long to walk.
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


def listed(dirs: Dirs, commit: str, *, within: float) -> bytes:
    """Lists a commit's files and folders as `ls-tree` does; raises `TooManyPaths` for too many."""
    try:
        said = run([*_WALK, commit], dirs=dirs, timeout=within, most=MOST).out
    except TooMuchSaid as error:
        raise TooManyPaths(commit[:10]) from error
    if said.count(b"\0") > MOST_PATHS:
        raise TooManyPaths(commit[:10])
    return said
