"""Typing into a live session: only into a prompt that is there and empty, and never at a dialog."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from windlass import drivers
from windlass.core.crew import Agent
from windlass.core.dialect import ScreenReading
from windlass.core.errors import Conflict, WindlassError
from windlass.core.states import State
from windlass.daemon.kernel.context import Context, session_name

PATIENCE = 15.0
_PAUSE = 0.05
_DRAWN = 0.4
_SHOWN_WITHIN = 10.0
_TAKEN_WITHIN = 1.0
_ENTERS = 10


def is_free(context: Context, agent: Agent) -> bool:
    """Whether a prompt is there and empty: no dialog is open, and nobody is typing."""
    try:
        reading = _see(context, agent)
    except WindlassError:
        return False  # its terminal has just gone
    return reading.dialog is None and reading.draft == ""


def is_up(context: Context, agent: Agent) -> bool:
    """Whether a session that was just started shows something that a person could work with."""
    try:
        reading = _see(context, agent)
    except WindlassError:
        return False
    return reading.dialog is not None or reading.draft is not None


def leave_limit_dialog(context: Context, agent: Agent) -> None:
    """Closes the dialog that a limit opens, which hides the prompt; touches no other one."""
    with suppress(WindlassError):  # its terminal has just gone
        if _see(context, agent).rule == "usage-limit-dialog":
            keys = drivers.dialect(agent.driver).keys
            context.sessions.terminal.keys(session_name(agent), keys.interrupt)


def harmless(text: str) -> str:
    """A text that does nothing but stand there when it is typed: no key is in it but the Enter."""
    shown = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\n\t"}
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return lines.translate({**shown, 0x7F: 0x2421, **dict.fromkeys(range(0x80, 0xA0), 0xFFFD)})


def say(context: Context, agent: Agent, text: str) -> None:
    """Types a text into an empty prompt and sends it off; returns when it has left the prompt.

    An Enter that comes before the text is drawn is lost: measured, one time in six on a busy
    machine. So the text is seen first, and Enter pressed again while it still stands there.
    """
    dialect = drivers.dialect(agent.driver)
    context.sessions.terminal.paste(session_name(agent), dialect.typed(text), submit=False)
    if not _see_until(context, agent, lambda seen: seen.draft != "", within=_SHOWN_WITHIN):
        # Something else may be there by now, which the Enter would answer.
        raise Conflict(f"{agent.id} does not show what was typed", f"look: wl look {agent.id}")
    for _ in range(_ENTERS):
        context.sessions.terminal.keys(session_name(agent), dialect.keys.submit)
        if _see_until(context, agent, lambda seen: not seen.draft, within=_TAKEN_WITHIN):
            return
    raise Conflict(
        f"{agent.id} does not take it: it still stands in its prompt",
        f"send or clear it there: wl attach {agent.id}",
    )


def _see_until(
    context: Context, agent: Agent, true: Callable[[ScreenReading], bool], *, within: float
) -> bool:
    clock = context.clock.unscaled
    end = clock.monotonic() + within
    while not true(_see(context, agent)):
        if clock.monotonic() > end:
            return False
        clock.sleep(_PAUSE)
    return True


def interrupt(context: Context, agent: Agent) -> None:
    """Stops the present turn and waits for its end; clears what the CLI puts back in its prompt.

    Claude Code that is stopped before its first answer puts the old prompt back in the box, and
    what is typed next would be appended to it.
    """
    keys = drivers.dialect(agent.driver).keys
    before = _see(context, agent)
    if before.dialog is not None:
        raise Conflict(
            f"{agent.id} asks something, and {keys.interrupt} would answer it: {before.evidence}",
            f"answer it: wl attach {agent.id}",
        )
    context.sessions.terminal.keys(session_name(agent), keys.interrupt)
    clock = context.clock.unscaled
    end = clock.monotonic() + PATIENCE
    while (reading := _see(context, agent)).state in (State.RUNNING, State.RATE_LIMITED):
        if clock.monotonic() > end:
            raise Conflict(
                f"{agent.id} goes on in spite of {keys.interrupt}: {reading.evidence}",
                f"look: wl look {agent.id}; pause it: wl pause {agent.id}",
            )
        clock.sleep(_PAUSE)
    if before.draft == "" and _puts_something_back(context, agent):
        context.sessions.terminal.keys(session_name(agent), keys.clear)
        while _see(context, agent).draft != "" and clock.monotonic() < end:
            clock.sleep(_PAUSE)


def _puts_something_back(context: Context, agent: Agent) -> bool:
    """Whether the prompt is empty no more; a long one leaves no box to be seen at all."""
    clock = context.clock.unscaled
    end = clock.monotonic() + _DRAWN
    while clock.monotonic() < end:
        if _see(context, agent).draft != "":
            return True
        clock.sleep(_PAUSE)
    return False


def _see(context: Context, agent: Agent) -> ScreenReading:
    text = context.sessions.terminal.capture(session_name(agent))
    return drivers.dialect(agent.driver).screen(text)
