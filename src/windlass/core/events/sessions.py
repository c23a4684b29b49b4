"""Events of sessions: when their programs run, and what those print."""

from __future__ import annotations

from typing import Any

from windlass.core.events.catalogue import EventData


class SessionStarted(EventData, kind="session.started"):
    """The program of a session runs."""

    session: int
    mode: str
    driver: str


class SessionAnew(EventData, kind="session.anew"):
    """A conversation that should be resumed was never written down, so it starts once more."""

    missing: str | None
    now: str


class SessionEnded(EventData, kind="session.ended"):
    """The program of a session is gone; without an exit code it left none."""

    session: int
    exit_code: int | None
    how: str


class LineSkipped(EventData, kind="line.skipped"):
    """A line of a conversation, of hook events or of output was too long, and is passed over."""

    file: str
    offset: int
    longest: int


class TurnEnded(EventData, kind="turn.ended"):
    """A headless session printed the result of a turn; what it says is the agent CLI's own."""

    subtype: Any = None
    is_error: Any = None
    api_error_status: Any = None
    num_turns: Any = None
    total_cost_usd: Any = None
    duration_ms: Any = None
    result: str | None = None


class OutputGarbage(EventData, kind="output.garbage"):
    """A headless session printed lines that are no JSON object; the first of them is shown."""

    line: str
    lines: int = 1


class TurnOver(EventData, kind="turn.over"):
    """A turn of an agent ended, whatever became of it: what it said last, and whether it failed."""

    session: int
    said: str = ""
    failed: bool = False
    """Whether the model could not be asked, or would not answer."""
