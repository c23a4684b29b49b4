"""What the daemon was started with, and the person's terminal has otherwise now.

Sessions start from the daemon's environment, which is that of the command that started it
(`daemon.start`). A `claude` that was installed elsewhere since, or a key that is set in this
terminal alone, they would not have. Names of variables are told, what they hold never.
"""

from __future__ import annotations

import os
import shutil

from windlass.api import calls, daemon_record, daemon_start
from windlass.core.errors import NotFound
from windlass.core.leaks import without_leaks

PROGRAMS = ("claude",)
"""What sessions are started with, found by PATH."""
_COUNTS = ("ANTHROPIC_", "CLAUDE_")
"""Variables that decide what an agent CLI does, and who pays for it."""
REMEDY = "wl daemon stop && wl daemon start"


def differences() -> list[str]:
    """Says what new sessions would have otherwise if the daemon were started from here.

    Nothing in an agent's session, whose environment is not the person's.
    """
    if daemon_start.IN_A_SESSION in os.environ or os.environ.get(calls.BOXED):
        return []
    try:
        theirs = daemon_record.environment()
    except NotFound:
        return []
    return [*_programs(theirs), *_variables(theirs)]


def _programs(theirs: dict[str, str]) -> list[str]:
    said = []
    for name in PROGRAMS:
        here = shutil.which(name)
        there = shutil.which(name, path=theirs.get("PATH", ""))
        if here is not None and here != there:
            said.append(f"it finds {there or 'no'} `{name}`, and you {here}")
    return said


def _variables(theirs: dict[str, str]) -> list[str]:
    ours = without_leaks(os.environ)
    names = sorted({*ours, *theirs})
    other = [
        name for name in names if name.startswith(_COUNTS) and ours.get(name) != theirs.get(name)
    ]
    return [f"{', '.join(other)}: not as in this terminal"] if other else []
