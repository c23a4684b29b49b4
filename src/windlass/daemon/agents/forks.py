"""The conversation that a new agent begins with, if it is another's."""

from __future__ import annotations

from typing import NamedTuple

from windlass import drivers
from windlass.core.box_spec import Level
from windlass.core.errors import UserError
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import session_request


class Fork(NamedTuple):
    """The conversation that an agent begins with, and whose it is where that had a box alone."""

    transcript: str | None = None
    out_of_box: str = ""


def find(
    context: Context, scope: lookup.Scope, wanted: str | None, driver: str, level: Level
) -> Fork:
    """The transcript to begin with, copied by nobody: the agent CLI forks it itself."""
    if wanted is None:
        return Fork()
    source = lookup.any_agent(context, scope, wanted)
    lookup.require_reachable(scope, source, lookup.live(context, scope), doing="fork")
    if source.driver != driver or not drivers.get(driver).abilities.fork:
        raise UserError(
            f"{driver} cannot begin with the conversation of {source.id} ({source.driver})",
            "fork an agent of the same driver; `wl drivers` shows which can",
        )
    if source.ended_at is not None:
        raise UserError(
            f"{source.id} has ended, and its conversation lies in the archive",
            f"bring it back first: wl undo, or wl trash restore {source.id}",
        )
    leaves = source.isolation == "box" and level != "box"
    transcript = session_request.transcript(context, source)
    return Fork(transcript, source.id if leaves else "")
