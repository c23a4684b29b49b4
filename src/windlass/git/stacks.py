"""A stack of changes on a commit, made of objects alone: one merge on top of the other.

Owns what a group of changes makes of a tip, and the one commit that lands of it. The same arguments
give the same commits. What a change makes depends on what lies below it in the stack.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from windlass.core.errors import GitError
from windlass.git import gate_trees, merges, path_count, reverts, soundness, workspace_state
from windlass.git.bounds import LONG
from windlass.git.environment import Dirs
from windlass.git.repository import (
    NOBODY,
    Repository,
    is_ancestor,
    merge_bases,
    null_oid,
    require,
)
from windlass.git.runner import Crashed, run


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
    deferred: tuple[str, ...]
    """Changes that only others below them conflict with, or have all of: they wait for these."""
    nothing: tuple[str, ...]
    """Changes that change nothing any more."""
    heads: tuple[str, ...] = ()
    """The heads of those in the group."""
    trees: tuple[str, ...] = ()
    """What each of those in the group made of what lies below it."""
    refused: Mapping[str, str] = MappingProxyType({})
    """Why changes cannot be merged with anything, whenever that is tried: git dies of them, too."""
    unmade: Mapping[str, str] = MappingProxyType({})
    """Why nobody knows of changes whether they merge: git failed, as on a full disk."""


def build(
    repo: Repository, tip: str, layers: Sequence[Layer], *, author: tuple[str, str], time: int
) -> Stack:
    """Puts changes on a tip, in their order; moves nothing."""
    top, tree = tip, gate_trees.tree_of(repo, tip)
    has = ("", tree)
    made: list[_Made] = []
    conflicts: dict[str, list[str]] = {}
    deferred: list[str] = []
    nothing: list[str] = []
    refused: dict[str, str] = {}
    unmade: dict[str, str] = {}
    for layer in layers:
        try:
            new, paths = _merged(repo, layer, top=top, tip=tip)
            fits = not paths and new not in ("", tree)
            alone, alone_paths = new, paths
            if not fits and top != tip:
                alone, alone_paths = _merged(repo, layer, top=tip, tip=tip)
        except (merges.Unmergeable, path_count.TooManyPaths) as error:
            # What its author made of it is no reason to hold the others.
            refused[layer.name] = told(error)
            continue
        except Crashed as error:
            # On top of others nobody knows on which of them it is.
            if top == tip:
                refused[layer.name] = told(error)
            else:
                deferred.append(layer.name)
            continue
        except GitError as error:
            is_its_own = soundness.is_broken(repo, layer.head, beside=tip)
            (refused if is_its_own else unmade)[layer.name] = told(error)
            continue
        if not fits and alone_paths:
            conflicts[layer.name] = alone_paths
        elif not fits:
            (nothing if alone in has else deferred).append(layer.name)
        else:
            parents, message = (top, layer.head), layer.message
            top = merges.commit(
                repo, tree=new, parents=parents, message=message, author=author, time=time
            )
            tree = new
            made.append(_Made(layer.name, layer.head, tree))
    return Stack(
        tip=tip,
        top=top,
        tree=tree,
        group=tuple(one.name for one in made),
        conflicts=conflicts,
        deferred=tuple(deferred),
        nothing=tuple(nothing),
        heads=tuple(one.head for one in made),
        trees=tuple(one.tree for one in made),
        refused=refused,
        unmade=unmade,
    )


class _Made(NamedTuple):
    """One change that fits, and the tree that it makes."""

    name: str
    head: str
    tree: str


def _merged(repo: Repository, layer: Layer, *, top: str, tip: str) -> tuple[str, list[str]]:
    """The tree of a change on top of a stack, and where it conflicts; none where the tip has it."""
    head = require(repo, layer.head)
    path_count.require_few(repo.dirs, head)
    if is_ancestor(repo, head, tip) and not layer.since:
        return "", []
    theirs = _without(repo, head, layer.without, top=top) if layer.without else head
    if layer.since:
        whole = gate_trees.tree_of(repo, theirs)
        theirs = reverts.beside(repo, tree=whole, parent=layer.since)
    return merges.merge_trees(repo, ours=top, theirs=theirs)


def told(error: GitError) -> str:
    """What git says of it, and what to do, as one text."""
    return f"{error.message} ({error.hint})" if error.hint else error.message


def _without(repo: Repository, head: str, paths: Sequence[str], *, top: str) -> str:
    """A commit beside a head that has of some paths what lies below it in the stack.

    What both sides have alike no merge changes, whatever it compares them with.
    """
    bases = merge_bases(repo, head, top)
    if not bases:
        return head
    had, has, *began = (
        gate_trees.blobs(repo, gate_trees.tree_of(repo, commit), paths)
        for commit in (top, head, *bases)
    )
    if had == has or (len(began) == 1 and began[0] == has):
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
        repo, tree=tree, parents=(head,), message="without what stays\n", author=NOBODY, time=0
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
