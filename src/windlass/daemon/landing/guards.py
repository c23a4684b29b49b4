"""Why a person has to look at a revision before it lands."""

from __future__ import annotations

from windlass.core.crew import Agent
from windlass.core.policy import protected
from windlass.core.printable import printable_line
from windlass.daemon.gate.gates import Gate
from windlass.git import changes, merges
from windlass.git.repository import Repository

_NAMED = 5


def of_revision(gate: Gate, git: Repository, head: str, *, by: Agent | None) -> tuple[str, ...]:
    """A line for each reason; a person who proposes it has looked, see `Change.approval`.

    `by` is the agent that proposes it.
    """
    found = []
    if by is not None and gate.config.landing.review != "none":
        found.append("it waits for your approval")
    if marked := edits(gate, git, head):
        shown = ", ".join(printable_line(path) for path in marked[:_NAMED])
        more = f" and {len(marked) - _NAMED} more" if len(marked) > _NAMED else ""
        found.append(f"it edits protected paths, which only a person lets in: {shown}{more}")
    return tuple(found)


def edits(gate: Gate, git: Repository, head: str) -> list[str]:
    """The protected paths that a merge of a head would change on the target."""
    base = merges.compared_with(git, tip=head, target=gate.target.tip)
    if base is None:
        return []
    return protected.among(changes.touched(git, base, head), gate.config.landing.protected)
