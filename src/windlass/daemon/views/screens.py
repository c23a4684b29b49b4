"""What an agent shows: `wl look`, and how `wl attach` joins its terminal. Reads only."""

from __future__ import annotations

import os
from pathlib import Path

from windlass import drivers
from windlass.api.verbs import Caller
from windlass.api.wire.request import AgentRequest
from windlass.api.wire.views import AttachmentReply, LookReply, LookRequest
from windlass.core import recorded_screen
from windlass.core.crew import Agent
from windlass.core.errors import Conflict
from windlass.core.printable import keep_colour, without_escapes
from windlass.core.session_launch import COLUMNS, LINES
from windlass.core.sessions import EARLIER_SCREEN, OUTPUT, SCREEN
from windlass.daemon.kernel import lookup, untrusted_files
from windlass.daemon.kernel.context import Context, session_name
from windlass.store import rows

_DOING = "look into"
_TAIL_BYTES = 1 << 20
_LARGEST = 1 << 40
_LEAST_LINES = 40


class Screens:
    """Shows what is on the screens of agents, or what they printed last."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def look(self, caller: Caller, request: LookRequest) -> LookReply:
        """What is on an agent's screen, or the last of what a stopped one printed."""
        scope = lookup.scope(self._context, caller, request)
        agent = lookup.any_reachable_agent(self._context, scope, request.get("agent"), doing=_DOING)
        colour = request.get("colour", False)
        session = self._context.store.read(lambda c: rows.newest_session(c, agent.uid))
        if session is None:
            raise Conflict(f"{agent.id} has had no session yet", f"wl why {agent.id}")
        live = session.ended_at is None
        folder = self._folder(agent, session.number)
        lines = request.get("lines", 0)
        if agent.mode == "headless":
            said, raw = _said(agent, folder, lines)
            return {"id": agent.id, "live": live, "mode": agent.mode, "screen": said, "raw": raw}
        if live:
            text = self._context.sessions.terminal.capture(
                session_name(agent), scrollback=lines, colour=colour
            )
            text = _end_of_text(text)
        else:
            text = _tail(folder, lines)
        shown = keep_colour(text) if colour else without_escapes(text)
        return {"id": agent.id, "live": live, "mode": agent.mode, "screen": shown}

    def _folder(self, agent: Agent, number: int) -> Path:
        if agent.archive is None:
            return self._context.folders.session(agent.uid, number)
        return self._context.folders.archive / agent.archive / "sessions" / str(number)

    def attachment(self, caller: Caller, request: AgentRequest) -> AttachmentReply:
        """How a terminal attaches to an agent's session."""
        scope = lookup.scope(self._context, caller, request)
        agent = lookup.reachable_agent(self._context, scope, request.get("agent"), doing=_DOING)
        if agent.mode == "headless":
            raise Conflict(
                f"{agent.id} is headless: there is no terminal to join",
                f"wl look {agent.id} shows what it says, wl log {agent.id} --follow what happens;"
                f" wl send {agent.id} '...' tells it more",
            )
        session = self._context.store.read(lambda c: rows.newest_session(c, agent.uid))
        if session is None or session.ended_at is not None:
            raise Conflict(
                f"{agent.id} is {agent.state}: there is no session to attach to",
                f"wl resume {agent.id} first, or wl look {agent.id} for the last of it",
            )
        terminal = self._context.sessions.terminal
        name = session_name(agent)
        return {
            "id": agent.id,
            "attach": terminal.attach_argv(name),
            "window": terminal.window_argv(name),
        }


def _tail(folder: Path, lines: int | None) -> str:
    """The last screen of a session, as its terminal had it; else the last of what it printed."""
    records = [folder / name for name in (EARLIER_SCREEN, SCREEN) if (folder / name).exists()]
    if records:
        record = "".join(_end_of(path)[0] for path in records)[-_TAIL_BYTES:]
        shown = recorded_screen.shown(record, columns=COLUMNS, lines=LINES)
        return "\n".join(_last(shown, lines))
    output = folder / OUTPUT
    return "\n".join(_last(_end_of(output)[0].splitlines() if output.exists() else [], lines))


def _said(agent: Agent, folder: Path, lines: int | None) -> tuple[str, str]:
    """What a headless session said, for people and as it stands."""
    path = folder / OUTPUT
    text, cut = _end_of(path) if path.exists() else ("", False)
    if cut:
        text = text.partition("\n")[2]
    raw = text.removesuffix("\n").split("\n")
    shown = drivers.dialect(agent.driver).shown(text)
    return "\n".join(_last(shown, lines)), without_escapes("\n".join(_last(raw, lines)))


def _last(lines: list[str], wanted: int | None) -> list[str]:
    return lines if wanted is None else lines[-max(wanted, _LEAST_LINES) :]


def _end_of_text(text: str) -> str:
    """The last rows of a screen, if it has more than anybody reads: each cell may have colours."""
    if len(text) <= _TAIL_BYTES:
        return text
    return "(the rows before these are left out)\n" + text[-_TAIL_BYTES:].partition("\n")[2]


def _end_of(path: Path) -> tuple[str, bool]:
    """The end of a file, and whether there is more before it."""
    if flaw := untrusted_files.flaw(path, most=_LARGEST):
        return f"({path} {flaw})\n", False
    with os.fdopen(untrusted_files.descriptor(path), "rb") as file:
        start = max(0, os.fstat(file.fileno()).st_size - _TAIL_BYTES)
        file.seek(start)
        return file.read(_TAIL_BYTES).decode(errors="replace"), start > 0
