"""A stack of changes on a commit, made of objects alone: one merge on top of the other.

Owns what a group of changes makes of a tip, and the one commit that lands of it. The same arguments
give the same commits. What a change makes depends on what lies below it in the stack.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from windlass.git import gate_trees, merges, path_count, reverts, workspace_state
from windlass.git.repository import Repository, is_ancestor, merge_bases, null_oid, require
from windlass.git.runner import LONG, Dirs, run

_NOBODY = ("windlass", "windlass@windlass.invalid")


class Layer(NamedTuple):
    """One change that is to be put on a stack."""

    name: str
    head: str
    message: str
    without: tuple[str, ...] = ()
    """Paths of which the stack keeps what it has."""
    since: str = ""
    """The commit that it all came after, where the tip has it already and it was taken back there.

    Without that git would bring only what is new."""


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
    heads: tuple[str, ...] = ()
    """The heads of those in the group."""


def build(
    repo: Repository, tip: str, layers: Sequence[Layer], *, author: tuple[str, str], time: int
) -> Stack:
    """Puts changes on a tip, in their order; moves nothing."""
    top, tree = tip, gate_trees.tree_of(repo, tip)
    group: list[str] = []
    conflicts: dict[str, list[str]] = {}
    later: list[str] = []
    nothing: list[str] = []
    heads: list[str] = []
    for layer in layers:
        head = require(repo, layer.head)
        path_count.require_few(repo.dirs, head)
        if is_ancestor(repo, head, tip) and not layer.since:
            nothing.append(layer.name)
            continue
        theirs = _without(repo, head, layer.without, tip=tip) if layer.without else head
        if layer.since:
            whole = gate_trees.tree_of(repo, theirs)
            theirs = reverts.beside(repo, tree=whole, parent=layer.since)
        made, paths = merges.merge_trees(repo, ours=top, theirs=theirs)
        if paths:
            alone = merges.merge_trees(repo, ours=tip, theirs=theirs)[1] if top != tip else paths
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
        heads.append(head)
    return Stack(
        tip, top, tree, tuple(group), conflicts, tuple(later), tuple(nothing), tuple(heads)
    )


def _without(repo: Repository, head: str, paths: Sequence[str], *, tip: str) -> str:
    """A commit beside a head that has of some paths what head and tip began with."""
    base = next(iter(merge_bases(repo, head, tip)), None)
    if base is None:
        return head
    had, has = (
        gate_trees.blobs(repo, gate_trees.tree_of(repo, commit), paths) for commit in (base, head)
    )
    if had == has:
        return head
    gone = [f"0 {null_oid(repo)}\t{path}\0" for path in has.keys() - had.keys()]
    back = [f"{_entry(kept)}\t{path}\0" for path, kept in had.items()]
    with workspace_state.scratch(repo) as folder:
        dirs = Dirs(git_dir=repo.git_dir, index=os.path.join(folder, "index"))  # noqa: PTH118
        run(["read-tree", head], dirs=dirs, timeout=LONG)
        entries = os.fsencode("".join((*gone, *back)))
        run(["update-index", "-z", "--replace", "--index-info"], dirs=dirs, stdin=entries)
        tree = run(["write-tree"], dirs=dirs, timeout=LONG).out.decode().strip()
    return merges.commit(
        repo, tree=tree, parents=(head,), message="without what stays\n", author=_NOBODY, time=0
    )


def _entry(listed: str) -> str:
    """What `ls-tree` lists, as an index takes it: mode and id."""
    mode, _, oid = listed.split()
    return f"{mode} {oid}"


def landing_commit(
    repo: Repository, stack: Stack, *, message: str, author: tuple[str, str], time: int
) -> str:
    """The one commit that the target moves to: a plain merge of one change, or one of a stack."""
    second = stack.heads[0] if len(stack.group) == 1 else stack.top
    return merges.commit(
        repo,
        tree=stack.tree,
        parents=(stack.tip, second),
        message=message,
        author=author,
        time=time,
    )


def squashed(
    repo: Repository, stack: Stack, *, message: str, author: tuple[str, str], time: int
) -> str:
    """The same without its second parent: the target has one more commit, and a straight line."""
    return merges.commit(
        repo, tree=stack.tree, parents=(stack.tip,), message=message, author=author, time=time
    )
