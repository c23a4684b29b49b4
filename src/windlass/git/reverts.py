"""What a merge brought, taken out of a later commit, or brought once more: on objects alone."""

from __future__ import annotations

from windlass.core.errors import GitError
from windlass.git import gate_trees, mainline, merges
from windlass.git.repository import NOBODY, Repository


def merge_of(repo: Repository, landed: str, head: str) -> str:
    """The merge of one change, by its head: the commit that landed, or the one in its stack.

    Only the stack is looked at, which is ours: of an author's own commits nothing is believed.
    """
    (moved,) = mainline.moves(repo, landed, limit=1)
    found = mainline.merge_in_stack(repo, moved, head)
    return found.commit if found is not None else landed


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
        repo, tree=tree, parents=(parent,), message="what is compared\n", author=NOBODY, time=0
    )


def _parents(repo: Repository, commit: str) -> list[str]:
    said = repo.git("rev-list", "--no-walk", "--parents", commit, "--")
    return said.out.decode().split()[1:]
