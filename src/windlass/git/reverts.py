"""What a merge brought, taken out of a later commit, or brought once more: on objects alone."""

from __future__ import annotations

from windlass.core.errors import GitError
from windlass.git import gate_trees, merges
from windlass.git.repository import Repository

_NOBODY = ("windlass", "windlass@windlass.invalid")
_MOST = 4096


def merge_of(repo: Repository, landed: str, trailer: str) -> str:
    """The merge of one change: the commit that landed, or the one for it in that one's stack."""
    parents = _parents(repo, landed)
    if len(parents) < 2:
        return landed
    bottom, at = parents[0], parents[1]
    for _ in range(_MOST):
        above = _parents(repo, at)
        if at == bottom or len(above) < 2:
            break
        if trailer in _message(repo, at).splitlines():
            return at
        at = above[0]
    return landed


def tree_without(repo: Repository, merge: str, tip: str) -> tuple[str, list[str]]:
    """The tree of a tip without what a merge brought, and where later commits are in the way."""
    before = _parents(repo, merge)
    if not before:
        raise GitError(f"{merge[:12]} is a first commit", "there is nothing before it")
    back = beside(repo, tree=gate_trees.tree_of(repo, before[0]), parent=merge)
    return merges.merge_trees(repo, ours=tip, theirs=back)


def beside(repo: Repository, *, tree: str, parent: str) -> str:
    """A commit that merges as if a tree had come straight from another commit."""
    return merges.commit(
        repo, tree=tree, parents=(parent,), message="what is compared\n", author=_NOBODY, time=0
    )


def _parents(repo: Repository, commit: str) -> list[str]:
    said = repo.git("rev-list", "--no-walk", "--parents", commit, "--")
    return said.out.decode().split()[1:]


def _message(repo: Repository, commit: str) -> str:
    return repo.git("log", "-1", "--format=%B", commit, "--").out.decode(errors="replace")
