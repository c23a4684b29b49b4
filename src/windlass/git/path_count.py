"""How many paths a commit has, counted no further than a limit.

A few tree objects that name each other many times are a hundred million paths. Whatever compares
such a tree unfolds it, so it is counted first, by a git with only so much memory and time, and
given up as soon as there are more.
"""

from __future__ import annotations

import contextlib
import os
import signal
from functools import lru_cache
from typing import TYPE_CHECKING

from windlass.core.errors import GitError
from windlass.git.runner import MOST, Dirs, limited, start

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_PATHS = 1_000_000
"""Files and folders that one commit may have, to be looked at."""
_CHUNK = 1 << 16


class TooManyPaths(GitError):
    """There are more paths than are looked at."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} has more than {MOST_PATHS:,} paths; not shown",
            "it cannot be looked at or merged; `wl kill` ends its agent and keeps everything",
        )


def require_few(dirs: Dirs, commit: str) -> None:
    """Refuses a commit, by its id, that has too many paths; one that has not is counted once."""
    _count(dirs.git_dir, dirs.objects, commit)


@lru_cache(maxsize=1024)
def _count(git_dir: str, objects: str | None, commit: str) -> int:
    dirs = Dirs(git_dir=git_dir, objects=objects)
    return sum(chunk.count(b"\0") for chunk in listed(dirs, commit))


def listed(dirs: Dirs, commit: str) -> Iterator[bytes]:
    """Gives in pieces what `ls-tree` says of all files and folders of a commit."""
    # Folders too: those that are empty take as long, and would not be told.
    words = ["ls-tree", "-r", "-t", "-z", "--full-tree", commit]
    git = start(words, dirs=dirs if dirs.box else limited(dirs))
    paths = size = 0
    with git:
        try:
            while git.stdout is not None and (chunk := git.stdout.read(_CHUNK)):
                paths, size = paths + chunk.count(b"\0"), size + len(chunk)
                if paths > MOST_PATHS or size > MOST:
                    raise TooManyPaths(commit[:10])
                yield chunk
        finally:
            if git.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(git.pid, signal.SIGKILL)
    if git.returncode != 0:
        raise GitError(f"cannot list {commit}", "`git fsck` says what the repository lacks")
