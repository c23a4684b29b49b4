"""A stack of changes on a commit, made of objects alone: one merge on top of the other.

Owns what a group of changes makes of a tip, and the one commit that lands of it. The same arguments
give the same commits. What a change makes depends on what lies below it in the stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from windlass.git import gate_trees, merges, path_count
from windlass.git.repository import Repository, is_ancestor, require


class Layer(NamedTuple):
    """One change that is to be put on a stack."""

    name: str
    head: str
    message: str


class Stack(NamedTuple):
    """What came of it: the tree of all that fit, and what did not."""

    tip: str
    top: str
    """The last merge; the tip itself where nothing fits."""
    tree: str
    group: tuple[str, ...]
    conflicts: dict[str, list[str]]
    """Where changes conflict with the tip itself."""
    later: tuple[str, ...]
    """Changes that conflict only with others below them: they have to wait for these."""
    nothing: tuple[str, ...]
    """Changes that change nothing any more."""


def build(
    repo: Repository, tip: str, layers: Sequence[Layer], *, author: tuple[str, str], time: int
) -> Stack:
    """Puts changes on a tip, in their order; moves nothing."""
    top, tree = tip, gate_trees.tree_of(repo, tip)
    group: list[str] = []
    conflicts: dict[str, list[str]] = {}
    later: list[str] = []
    nothing: list[str] = []
    for layer in layers:
        head = require(repo, layer.head)
        path_count.require_few(repo.dirs, head)
        if is_ancestor(repo, head, tip):
            nothing.append(layer.name)
            continue
        made, paths = merges.merge_trees(repo, ours=top, theirs=head)
        if paths:
            alone = merges.merge_trees(repo, ours=tip, theirs=head)[1] if top != tip else paths
            if alone:
                conflicts[layer.name] = alone
            else:
                later.append(layer.name)
            continue
        if made == tree:
            nothing.append(layer.name)
            continue
        top = merges.commit(
            repo, tree=made, parents=(top, head), message=layer.message, author=author, time=time
        )
        tree = made
        group.append(layer.name)
    return Stack(tip, top, tree, tuple(group), conflicts, tuple(later), tuple(nothing))


def landing_commit(
    repo: Repository, stack: Stack, *, message: str, author: tuple[str, str], time: int
) -> str:
    """The one commit that the target moves to: a batch is one merge of its stack, one is itself."""
    if len(stack.group) == 1:
        return stack.top
    return merges.commit(
        repo,
        tree=stack.tree,
        parents=(stack.tip, stack.top),
        message=message,
        author=author,
        time=time,
    )
