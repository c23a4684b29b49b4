"""What is known of a session, how a stop or a command went, and the files in a session's folder."""

from __future__ import annotations

import msgspec

from windlass.core.session_launch import Mode

SPEC = "spec.json"
"""Written right before the start: what the session is started with."""
OUTPUT = "output"
"""What a headless session prints."""
SCREEN = "screen.log"
"""What a live session prints, with every escape sequence: the last of it, see `recorder.sh`."""
EARLIER_SCREEN = f"{SCREEN}.1"
"""What it printed before that, where that was much; what is older is not kept."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a session now.

    Not alive with no exit code: it was ended so hard that nobody could write it down, or it
    never started. `child_pid` is the agent CLI, also behind a box. `reason` says why a program
    could not be started, or the last line that one printed which failed by itself.
    """

    alive: bool
    exit_code: int | None = None
    exited_at: float | None = None
    holder_pid: int | None = None
    child_pid: int | None = None
    reason: str = ""


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """What a session was started as: its name, the marker of its processes, and how."""

    name: str
    marker: str
    mode: Mode = "live"


class StopReport(msgspec.Struct, frozen=True, kw_only=True):
    """How a tree of processes ended: after TERM, by KILL, or (described) not at all."""

    terminated: int = 0
    killed: int = 0
    survivors: tuple[str, ...] = ()


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a command line ended, with the last of what it said."""

    code: int
    timed_out: bool
    tail: str


class WholeRun(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended that was run to its end, with everything that it started."""

    code: int
    timed_out: bool
    seconds: float
    left_out: int
    """Bytes of its output that are not in its log."""
    survivors: int
    """Processes of it that could not be ended."""
    overgrown: str = ""
    """Why it was ended before its time: what it had written by then; empty where it was not."""


class Peer(msgspec.Struct, frozen=True):
    """The process that opened a connection to us, whoever has its end of it by now.

    `handle` is a descriptor of that very process, where the system has such; who made it closes it.
    """

    pid: int
    handle: int | None = None


class Mark(msgspec.Struct, frozen=True):
    """What a process says of the session that it runs in: its marker, and the state folder."""

    marker: str
    home: str | None = None
