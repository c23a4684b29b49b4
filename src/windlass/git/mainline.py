"""The first parents of a branch: which commits it moved to, and with which of them others came."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from windlass.git import commit_times, long_lists
from windlass.git.repository import is_ancestor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from windlass.git.repository import Repository

_FIELDS = "%H%x1f%T%x1f%P%x1f%ct%x1f%s"


class Moved(msgspec.Struct, frozen=True):
    """One commit that a branch was at."""

    commit: str
    tree: str
    parents: tuple[str, ...]
    time: int
    subject: str


def moves(
    repo: Repository, tip: str, *, since: str = "", limit: int = 0, paths: Sequence[str] = ()
) -> list[Moved]:
    """Lists the first parents of a commit and itself, the newest first.

    With paths, those of them that brought something there.
    """
    most = [f"--max-count={limit}"] if limit else []
    named = [f":(top,literal){path}" for path in paths]
    span = f"{since}..{tip}" if since else tip
    said = repo.git("log", "--first-parent", *most, "-z", f"--format={_FIELDS}", span, "--", *named)
    return [_moved(record) for record in long_lists.records(said.out) if record]


def came_with(repo: Repository, commit: str, tip: str) -> Moved | None:
    """The oldest of a commit's first parents that has another one in its past; None for none.

    Who has it, all have after that: so half of those that are left are passed over each time.
    """
    if not is_ancestor(repo, commit, tip):
        return None
    said = repo.git("rev-list", "--first-parent", tip, "--").out.decode().split()
    without, has = len(said), 0
    while without - has > 1:
        middle = (has + without) // 2
        if is_ancestor(repo, commit, said[middle]):
            has = middle
        else:
            without = middle
    return moves(repo, said[has], limit=1)[0]


def own_part(repo: Repository, landed: Moved, head: str) -> tuple[str, str]:
    """What one of the heads that a commit merges brought: from which commit to which."""
    if (merge := merge_in_stack(repo, landed, head)) is not None:
        return merge.parents[0], merge.commit
    return landed.parents[0] if landed.parents else landed.commit, landed.commit


def merge_in_stack(repo: Repository, landed: Moved, head: str) -> Moved | None:
    """The merge of a head in the stack that a commit brought; None where it is all that it brought.

    Of a stack of several each is a merge of its own, along the second parent's first parents.
    """
    if len(landed.parents) < 2 or landed.parents[1] == head:
        return None
    stack = moves(repo, landed.parents[1], since=landed.parents[0])
    return next((merge for merge in stack if head in merge.parents[1:]), None)


def _moved(record: bytes) -> Moved:
    commit, tree, parents, time, subject = record.split(b"\x1f", 4)
    return Moved(
        commit=commit.decode(),
        tree=tree.decode(),
        parents=tuple(parents.decode().split()),
        time=commit_times.read(time),
        subject=subject.decode(errors="backslashreplace"),
    )
