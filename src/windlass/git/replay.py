"""The own commits of a branch made anew upon another commit: a rebase, on objects alone.

Moves nothing. What cannot be made anew so that the branch has just what a merge would give is left
as it is: where a commit conflicts, and where a merge of the branch's own decided something.
"""

from __future__ import annotations

from typing import NamedTuple

from windlass.core.errors import GitError
from windlass.core.printable import printable_line
from windlass.git import gate_trees, merges, path_count, repository, reverts, squashes
from windlass.git.repository import Repository

_MOST = 1000
_DROPPED = (b"tree ", b"parent ", b"gpgsig ", b"gpgsig-sha256 ", b"mergetag ")
"""What a commit says of what it was made of; it is made of something else now."""


class Replayed(NamedTuple):
    """What came of it: the new tip, or where it conflicts."""

    tip: str
    commits: int = 0
    """How many were made anew; what changes nothing any more is left out."""
    conflicts: tuple[str, ...] = ()
    why: str = ""
    """Why it is left as it is though nothing conflicts."""


def replay(repo: Repository, *, tip: str, onto: str) -> Replayed:
    """Makes what `tip` has beyond `onto` anew upon it; the same arguments give the same commits."""
    seen = squashes.seen(repo)
    path_count.require_few(repo.dirs, tip)
    if repository.is_ancestor(seen, tip, onto):
        return Replayed(onto)
    whole, paths = merges.merge_trees(seen, ours=onto, theirs=tip)
    if paths:
        return Replayed(tip, conflicts=tuple(paths))
    own = _own(seen, tip=tip, onto=onto)
    if len(own) > _MOST:
        return Replayed(tip, why=f"it has more than {_MOST} commits of its own")
    top, tree, made = onto, gate_trees.tree_of(repo, onto), 0
    for commit in own:
        raw = _raw(repo, commit)
        parent = _parent(raw)
        if parent is None:
            return Replayed(tip, why=f"{commit[:10]} has nothing before it")
        ours = reverts.beside(repo, tree=tree, parent=parent)
        next_tree, paths = merges.merge_trees(repo, ours=ours, theirs=commit)
        if paths:
            return Replayed(tip, conflicts=tuple(paths))
        if next_tree == tree:
            continue
        top, tree, made = _again(repo, raw, tree=next_tree, parent=top), next_tree, made + 1
    if tree != whole:
        return Replayed(tip, why="a merge of its own decided what its commits alone do not say")
    return Replayed(top, made)


def _own(repo: Repository, *, tip: str, onto: str) -> list[str]:
    """What is the branch's own, the oldest first; merges bring nothing but what others made."""
    order = ("--reverse", "--topo-order", "--no-merges", f"--max-count={_MOST + 1}")
    return repo.git("rev-list", *order, tip, f"^{onto}", "--").out.decode().split()


def _raw(repo: Repository, commit: str) -> bytes:
    return repo.git("cat-file", "commit", commit).out


def _parent(raw: bytes) -> str | None:
    head = raw.partition(b"\n\n")[0].splitlines()
    return next((line[7:].decode() for line in head if line.startswith(b"parent ")), None)


def _again(repo: Repository, raw: bytes, *, tree: str, parent: str) -> str:
    """The commit with another tree and parent; a signature of what it was says nothing now."""
    head, _, message = raw.partition(b"\n\n")
    kept: list[bytes] = []
    is_dropped = False
    for line in head.splitlines():
        if not line.startswith(b" "):
            is_dropped = line.startswith(_DROPPED)
        if not is_dropped:
            kept.append(line)
    lines = [f"tree {tree}".encode(), f"parent {parent}".encode(), *kept]
    made = b"\n".join(lines) + b"\n\n" + message
    try:
        said = repo.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=made)
    except GitError as error:
        raise GitError(
            f"a commit cannot be made anew: {printable_line(error.message)}", error.hint
        ) from error
    return said.out.decode().strip()
