"""Whether git can read what a commit is made of.

Asked where git has failed on it, to tell a finding from a fault: objects that are missing or
malformed fail whenever it is tried, and a full disk does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from windlass.core.errors import GitError
from windlass.git.bounds import LONG
from windlass.git.runner import Crashed, run

if TYPE_CHECKING:
    from windlass.git.repository import Repository

# What a partial clone has left with its remote is no damage.
_WALK = ("rev-list", "--objects", "--quiet", "--missing=allow-promisor")


def is_broken(repo: Repository, commit: str, *, beside: str) -> bool:
    """Whether git cannot read what a commit has and another lacks, although it can read that one.

    Needs no room on the disk. Where git cannot say so in time, nobody knows.
    """
    try:
        return _fails(repo, commit, f"^{beside}") and not _fails(repo, "--max-count=1", beside)
    except GitError:
        return False


def _fails(repo: Repository, *words: str) -> bool:
    try:
        return run([*_WALK, *words, "--"], dirs=repo.dirs, ok=(0, 128), timeout=LONG).code != 0
    except Crashed:
        return True
