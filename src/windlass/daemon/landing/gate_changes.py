"""Changes to the gate itself: what they make of it, and what a person accepts with them.

Such a change lands alone, passed by the gate as it was and by the gate as it makes it.
"""

from __future__ import annotations

from typing import NamedTuple

from windlass.core.config_values import written
from windlass.core.errors import ConfigError
from windlass.core.gate.spec import GateSpec
from windlass.core.printable import printable_line
from windlass.core.project_config import Line
from windlass.daemon.gate import gates
from windlass.daemon.gate.gates import Gate
from windlass.daemon.kernel import project_file
from windlass.daemon.kernel.context import Context
from windlass.git import gate_trees
from windlass.git.repository import Repository


class GateChange(NamedTuple):
    """What becomes of the gate where a revision lands."""

    gate: Gate
    """The gate as it would be, as far as the person has accepted it."""
    parts: tuple[str, ...]
    """What of it is another."""
    lines: tuple[Line, ...]
    """What it widens, that nobody has accepted yet."""

    @property
    def told(self) -> str:
        """What a person is asked to look at."""
        wider = [
            f"{line.key} = {written(line.value)} instead of {written(line.instead_of) or 'nothing'}"
            for line in self.lines
        ]
        names = dict.fromkeys((*wider, *(f"gate.{part}" for part in self.parts)))
        return "it changes the gate, and so lands alone: " + printable_line("; ".join(names))


def find(context: Context, gate: Gate, git: Repository, tree: str) -> GateChange | None:
    """What a tree would make of the gate; None where that stays as it is.

    Refuses one that would leave the target without a gate: no check is no pass, and no other change
    could land after it.
    """
    held = gate_trees.read_file(git, tree, project_file.PROJECT_FILE, most=project_file.LARGEST)
    new = gates.read_held(context, gate.repo, gate.target, held)
    if gates.is_none(new):
        raise ConfigError(
            f"it would leave {printable_line(gate.target.branch)} without a gate, and nothing could"
            " land there any more",
            "keep a check in it; where changes are to land without any:"
            " wl config set landing.unproven WHY",
        )
    before = {line.digest for line in gate.waiting}
    lines = tuple(line for line in new.waiting if line.digest not in before and not line.personal)
    lines = tuple(line for line in lines if not line.counts_in_boxes or not new.spec.box)
    parts = tuple(
        name
        for name in GateSpec.__struct_fields__
        if getattr(new.spec, name) != getattr(gate.spec, name)
    )
    return GateChange(new, parts, lines) if parts or lines else None


def unaccepted(gate: Gate) -> str:
    """Why nothing lands by the target's gate: it says more than the person has accepted."""
    keys = [
        line.key
        for line in gate.waiting
        if line.key.startswith("gate.") and not (line.counts_in_boxes and gate.spec.box)
    ]
    if not keys:
        return ""
    return (
        f"the gate of {printable_line(gate.target.branch)} says more than you have accepted"
        f" ({', '.join(dict.fromkeys(keys))}): look and accept it with wl trust, then wl retry it"
    )
