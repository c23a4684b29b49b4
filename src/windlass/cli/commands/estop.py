"""Ends every session of this state folder at once, with or without a daemon. Work is kept.

Nothing is brought back or resumed until you start again: `wl resume --all` goes on. What agents
wrote stays in their workspaces.
"""

from __future__ import annotations

import os
import time
from argparse import ArgumentParser
from pathlib import Path

from windlass.api import daemon_record, daemon_start, places
from windlass.cli.call import Call
from windlass.cli.render import counted
from windlass.core.errors import Denied, Unavailable

EXAMPLES = ("wl estop", "wl estop --json")


def arguments(parser: ArgumentParser) -> None:
    """Takes none."""
    del parser


def run(call: Call) -> int:
    """Ends the daemon, then everything that runs for a session."""
    from windlass.sessions import emergency  # noqa: PLC0415 - what it imports only it needs

    if daemon_start.IN_A_SESSION in os.environ:
        raise Denied("agents do not stop everybody", "ask the person")
    began = time.monotonic()
    home = Path(places.home())
    if home.is_dir():
        daemon_record.mark_emergency()
    daemon_start.stop_at_once()
    ended = emergency.end_all(home)
    daemon_start.stop_at_once()  # somebody may have been starting one
    seconds = round(time.monotonic() - began, 3)
    survivors = list(ended.survivors)
    call.data({"stopped": ended.sessions, "seconds": seconds, "survivors": survivors})
    call.say(f"stopped {counted(ended.sessions, 'session')} in {seconds:.1f} s; work is kept")
    if survivors:
        call.say(f"  still there: pid {', '.join(map(str, survivors))}")
        return Unavailable.exit_code
    call.tell("  nothing goes on until you say so: wl resume --all")
    return 0
