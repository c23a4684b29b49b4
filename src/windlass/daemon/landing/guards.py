"""Why a person has to look at a revision before it lands."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from windlass.core.crew import Agent
from windlass.core.landing.changes import Change
from windlass.core.landing.holds import REVIEW
from windlass.core.policy import protected
from windlass.core.printable import few
from windlass.daemon.gate.gates import Gate
from windlass.daemon.kernel import project_file
from windlass.daemon.kernel.context import Context
from windlass.daemon.landing import gate_changes
from windlass.daemon.landing.tries import BOARD_FILE
from windlass.git import changes, gate_trees, merges, path_count
from windlass.git.repository import Repository
from windlass.git.stacks import Stack


class Guards(NamedTuple):
    """What is to be looked at of a revision."""

    told: tuple[str, ...] = ()
    """A line for each reason."""
    edits: tuple[str, ...] = ()
    """The protected paths that it edits, as they are kept."""
    steers_gate: bool = False
    wider: bool = False
    """Whether it would have the gate reach more than the person has accepted."""


def of_revision(
    context: Context, gate: Gate, git: Repository, head: str, *, by: Agent | None, since: str = ""
) -> Guards:
    """Says why; a person who proposes it has looked, see `Change.approval`.

    `by` is the agent that proposes it; `since` where it begins whose branch was taken back before.
    """
    found = []
    if by is not None and _is_reviewed(gate, by):
        found.append(REVIEW)
    marked = edits(gate, git, head, since=since)
    if by is not None:
        marked = [path for path in marked if path != BOARD_FILE]  # that stays out of what it brings
    if marked:
        found.append(f"it edits protected paths, which only a person lets in: {few(marked)}")
    steered = None
    if project_file.PROJECT_FILE in marked:
        tree = gate_trees.tree_of(git, head)
        steered = gate_changes.find(context, gate, git, tree)
    if steered is None:
        return Guards(tuple(found), tuple(map(kept, marked)))
    told, edited = (*found, steered.told), tuple(map(kept, marked))
    return Guards(told, edited, steers_gate=True, wider=bool(steered.lines))


def _is_reviewed(gate: Gate, by: Agent) -> bool:
    """Whether a person looks at what an agent has; of a run's only where somebody said so."""
    said = gate.config.landing.review
    return said == "person" or (not said and not by.run)


def edits(gate: Gate, git: Repository, head: str, *, since: str = "") -> list[str]:
    """The protected paths that a merge of a head would change on the target."""
    base = since or merges.compared_with(git, tip=head, target=gate.target.tip)
    if base is None:
        path_count.require_few(git.dirs, head)
        paths = gate_trees.names(git, gate_trees.tree_of(git, head))
    else:
        paths = changes.touched(git, base, head)
    return protected.among(paths, gate.config.protected)


def unknown_edits(gate: Gate, git: Repository, known: Sequence[Change], stack: Stack) -> list[str]:
    """The protected paths that a stack edits, and that nobody knew of.

    A change may have taken back in its own past what the target got only after it was looked at, or
    bring once more what was taken back there: only the merge itself tells.
    """
    found: set[str] = set()
    below = gate_trees.tree_of(git, stack.tip)
    for change, tree in zip(known, stack.trees, strict=True):
        if change.reverts is None:  # that one is made of the target itself, at the person's word
            paths = gate_trees.edited(git, below, tree)
            marked = protected.among(paths, gate.config.protected)
            found |= {path for path in marked if kept(path) not in change.edits}
        below = tree
    return sorted(found)


def kept(path: str) -> str:
    """How a path is kept with a change: its bytes, which need not be text, as characters."""
    return os.fsencode(path).decode("latin-1")


def tell_edits(paths: Sequence[str]) -> str:
    """The line for paths that `unknown_edits` found."""
    return f"merged, it edits protected paths that it did not before: {few(paths)}"
