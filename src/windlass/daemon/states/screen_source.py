"""Glances at what hooks do not tell: a live session's status file, and its screen.

An interrupted turn fires no hook, nor does a dialog at the start, nor a model that asks for
patience. The status file is read when it changes. The screen is a picture, taken seldom: often only
while an agent starts or shows something that only a screen shows, and believed when two pictures a
second apart agree.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from windlass import drivers
from windlass.core import usage_windows
from windlass.core.box_spec import PID_INSIDE
from windlass.core.crew import Agent
from windlass.core.dialect import Dialect, ScreenReading
from windlass.core.errors import WindlassError
from windlass.core.ids import Uid
from windlass.core.reasons import Reason
from windlass.core.sessions import SCREEN, SPEC
from windlass.core.states import Observation, Source, State
from windlass.daemon.kernel import clock, file_stat, untrusted_files
from windlass.daemon.kernel.context import Context, session_name
from windlass.daemon.spend import windows
from windlass.store.rows import Session

SETTLES = 1.0
SELDOM = 5.0
OFTEN = 1.0
LARGEST_STATUS = 1 << 16
_KEPT = 450
"""Characters of what decided on a screen."""


class ScreenMemory(msgspec.Struct):
    """What was seen of one session so far."""

    number: int
    status_file: str | None = None
    status_stamp: tuple[int, int] = (0, 0)
    began: float = 0.0
    printed: int = 0
    pictured_at: float = 0.0
    again: bool = False
    state: State | None = None
    since: float = 0.0
    told: tuple[State, str, str] | None = None
    window: str = ""


class ScreenSource:
    """Keeps an eye on each live session; remembers nothing that a restart would miss."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._memories: dict[Uid, ScreenMemory] = context.memory.per_agent()

    def glance(self, agent: Agent, session: Session, *, status_file: Any) -> list[Observation]:
        """What is new since the last glance. `status_file` finds the file of a process."""
        memory = self._memories.get(agent.uid)
        if memory is None or memory.number != session.number:
            memory = self._memories[agent.uid] = ScreenMemory(number=session.number)
        folder = self._context.folders.session(agent.uid, session.number)
        if memory.status_file is None:
            facts = self._context.sessions.facts(folder, session_name(agent))
            pid = PID_INSIDE if agent.isolation == "box" else facts.child_pid
            memory.status_file = status_file(pid) if pid else None
            memory.began = file_stat.written_at(f"{folder}/{SPEC}")
        now = self._context.clock.now()
        dialect = drivers.dialect(agent.driver)
        observations = [
            _read_status(
                dialect, memory, session, now, below=self._context.folders.agent(agent.uid)
            ),
            self._picture(dialect, memory, agent, folder=str(folder), now=now),
        ]
        return [seen for seen in observations if seen is not None]

    def status_file(self, agent: Agent, session: Session) -> str | None:
        """Where a session tells its status, as far as that is known by now."""
        memory = self._memories.get(agent.uid)
        return memory.status_file if memory and memory.number == session.number else None

    def _picture(
        self, dialect: Dialect, memory: ScreenMemory, agent: Agent, *, folder: str, now: float
    ) -> Observation | None:
        printed = file_stat.size(f"{folder}/{SCREEN}")
        fresh, memory.printed = _tail(f"{folder}/{SCREEN}", memory.printed, printed), printed
        telling = any(word in fresh for word in dialect.telltales)
        starting = agent.state is State.CREATING
        unsure = starting or agent.state in (State.RATE_LIMITED, State.ASKING)
        pause = OFTEN if unsure or memory.again or telling else SELDOM
        # A clock that was set back ends the pause.
        is_early = 0 <= now - memory.pictured_at < pause
        if is_early or not (fresh or memory.again or starting):
            memory.again = memory.again or telling or (bool(fresh) and unsure)
            return None
        memory.pictured_at = now
        try:
            text = self._context.sessions.terminal.capture(session_name(agent))
        except WindlassError:
            return None  # it just ended; its exit says more than its screen
        reading = dialect.screen(text)
        if reading.window != memory.window:
            memory.window = reading.window
            self._note_window(agent, reading.window, now)
        return _judge(memory, reading, now)

    def _note_window(self, agent: Agent, said: str, now: float) -> None:
        window = usage_windows.from_words(said, seen_at=now, zones=clock.zone)
        if window is not None:
            self._context.store.write(lambda w: windows.note(w, agent, window))


def _judge(memory: ScreenMemory, reading: ScreenReading, now: float) -> Observation | None:
    if reading.state is not memory.state:
        memory.state, memory.since, memory.again = reading.state, now, True
        return None
    memory.again = False
    # A limit may be followed by another; the seconds until a retry are no news.
    is_limit = reading.state is State.RATE_LIMITED and reading.retry_after is None
    told = (reading.state, reading.rule, reading.evidence if is_limit else "")
    if reading.state is State.UNKNOWN or memory.told == told:
        return None
    memory.told = told
    return Observation(
        source=Source.SCREEN,
        value=reading.state,
        at=memory.since,
        reason=Reason(kind="screen", rule=reading.rule, text=reading.evidence[:_KEPT]),
        session=memory.number,
    )


def _read_status(
    dialect: Dialect, memory: ScreenMemory, session: Session, now: float, *, below: Path
) -> Observation | None:
    if memory.status_file is None:
        return None
    try:
        file = os.lstat(memory.status_file)  # a thousand times a second
        stamp = (file.st_mtime_ns, file.st_size)
        if stamp == memory.status_stamp or file.st_size > LARGEST_STATUS:
            return None
        text = untrusted_files.read(memory.status_file, most=LARGEST_STATUS, below=below)
        status = msgspec.json.decode(text)
    except (OSError, ValueError, RecursionError):
        return None  # not there yet, gone, or half written: the next glance sees
    seen = dialect.from_status(status, session=session.number) if isinstance(status, dict) else None
    if seen is not None and 0 <= now - seen.at < SETTLES:
        return None  # a hook about the same moment may be on its way, and says more
    memory.status_stamp = stamp
    # In a box every session has the same number: one that was killed left this file to the next.
    return seen if seen is None or seen.at >= memory.began else None


def _tail(path: str, before: int, now: int) -> bytes:
    if now == before:
        return b""
    if now < before:
        before = 0  # the recorder has begun another file
    descriptor = untrusted_files.descriptor(path)
    try:
        return os.pread(descriptor, LARGEST_STATUS, max(before, now - LARGEST_STATUS))
    finally:
        os.close(descriptor)
