"""What several commands ask about the work on a board."""

from __future__ import annotations

import os
from typing import Any

from windlass.cli import render
from windlass.cli.call import Call
from windlass.core.runs import overrides

BOARD = "run"
"""What is paused and resumed instead of an agent."""


def driver(named: str | None = None) -> dict[str, str]:
    """The agent CLI that is wanted, if any is: by an option or by the environment."""
    wanted = named or os.environ.get("WINDLASS_DRIVER")
    return {"driver": wanted} if wanted else {}


def environment() -> dict[str, Any]:
    """What the environment says of roles, for a request that begins work on a board."""
    said = overrides.in_environment(os.environ)
    return {"overrides": said} if said else {}


def pause(call: Call, *, paused: bool) -> int:
    """Has no more tasks begun, or goes on with that."""
    done = call.ask("run.pause", paused=paused)
    call.data(done)
    running = render.counted(done["running"], "task")
    if paused:
        call.tell(f"no more tasks are begun; {running} at work go on: wl resume run")
    else:
        call.tell(f"the board is worked off again, {running} at work: wl run follows it")
    return 0
