"""Why a person has to look at a revision before it lands."""

from __future__ import annotations

from typing import NamedTuple

from windlass.core.crew import Agent
from windlass.core.landing.holds import REVIEW
from windlass.core.policy import protected
from windlass.core.printable import printable_line
from windlass.daemon.gate.gates import Gate
from windlass.daemon.kernel import project_file
from windlass.daemon.kernel.context import Context
from windlass.daemon.landing import gate_changes
from windlass.git import changes, gate_trees, merges
from windlass.git.repository import Repository

_NAMED = 5


class Guards(NamedTuple):
    """What is to be looked at of a revision."""

    told: tuple[str, ...] = ()
    """A line for each reason."""
    steers_gate: bool = False
    wider: bool = False
    """Whether it would have the gate reach more than the person has accepted."""


def of_revision(
    context: Context, gate: Gate, git: Repository, head: str, *, by: Agent | None
) -> Guards:
    """Says why; a person who proposes it has looked, see `Change.approval`.

    `by` is the agent that proposes it.
    """
    found = []
    if by is not None and gate.config.landing.review != "none":
        found.append(REVIEW)
    marked = edits(gate, git, head)
    if marked:
        shown = ", ".join(printable_line(path) for path in marked[:_NAMED])
        more = f" and {len(marked) - _NAMED} more" if len(marked) > _NAMED else ""
        found.append(f"it edits protected paths, which only a person lets in: {shown}{more}")
    steered = None
    if project_file.PROJECT_FILE in marked:
        tree = gate_trees.tree_of(git, head)
        steered = gate_changes.find(context, gate, git, tree)
    if steered is None:
        return Guards(tuple(found))
    return Guards((*found, steered.told), steers_gate=True, wider=bool(steered.lines))


def edits(gate: Gate, git: Repository, head: str) -> list[str]:
    """The protected paths that a merge of a head would change on the target."""
    base = merges.compared_with(git, tip=head, target=gate.target.tip)
    if base is None:
        return []
    return protected.among(changes.touched(git, base, head), gate.config.landing.protected)
