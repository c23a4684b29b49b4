"""Which pipelines come with Windlass, and which one a task goes through."""

from __future__ import annotations

from typing import NamedTuple

from windlass.core.roles import SHIPPED, STEP_ALIASES, STEPS

NAMES = ("fast", "full")
"""Each a file in `data/pipelines`."""
USUAL = "fast"
"""What runs unless somebody chooses: seven sessions a task are chosen, not given."""
ROLES = frozenset((*SHIPPED, *STEPS, *STEP_ALIASES))
"""The roles that steps may name, besides those that a repository has files for."""


class Source(NamedTuple):
    """Where a task's pipeline is chosen, and what is chosen there."""

    why: str
    file: str = ""
    """A file of the `.windlass` folder."""
    name: str = ""
    """A file that is named, or a pipeline by its name."""


def sources(task: str, *, command_line: str, board: str, config: str) -> list[Source]:
    """Where to look for a task's pipeline, in order; a file counts if it is there."""
    found = [Source("the command line", name=command_line)] if command_line else []
    if task:
        found.append(Source(f"pipelines/{task}.json", file=f"pipelines/{task}.json"))
    if board:
        found.append(Source(f"the field Pipeline of {task}", name=board))
    found.append(Source("pipeline.json", file="pipeline.json"))
    if config:
        found.append(Source("the configuration", name=config))
    found.append(Source("built in", name=USUAL))
    return found
