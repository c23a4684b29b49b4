"""What the daemon's memory keeps of agents that came and went: KiB for each of them.

The services of a daemon in this process, with real git and a real store, and as many connections
that read as its threads have at work. Agents have no workspaces: those take time, and no memory.
"""

from __future__ import annotations

import ctypes
import gc
import statistics
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import sqlalchemy as sa
from bench.table import Row
from tests.support.contexts import Turned, lent
from tests.support.fake_sessions import FakeSessions
from tests.support.workshop import Workshop

from windlass.core.ids import Uid
from windlass.store import rows, tables

_AGENTS, _FIRST = 90, 40
"""How many come and go, and from which on it is measured: until then caches fill."""
_READERS = 16
_PAGE_KIB = 4


def measure() -> list[Row]:
    """Measures the slope: the growth of this process by agent, in a straight line through it."""
    resident: list[int] = []
    with lent(Turned(tick=0.001)) as context, ThreadPoolExecutor(_READERS) as threads:
        workshop = Workshop(context)
        for number in range(_AGENTS):
            uid = _come_and_go(workshop, f"a{number}")
            _read_everywhere(workshop, threads, uid)
            if number >= _FIRST:
                resident.append(_resident())
        workshop.close()
    slope = statistics.linear_regression(range(len(resident)), resident).slope
    note = f"{_AGENTS - _FIRST} agents, {_READERS} connections"
    return [Row("memory kept by agent that came and went", [slope], 20, note, unit="KiB")]


def _come_and_go(workshop: Workshop, name: str) -> Uid:
    """Starts an agent, has it use a tool some times, and ends it."""
    more = {"driver": "standin", "isolation": "hooks", "worktree": False}
    made = workshop.ask("spawn", goal="g", name=name, key=f"begin-{name}", **more)
    agent = workshop.agent(made["uid"])
    session = workshop.session(agent)
    session.hook("SessionStart", source="startup", session_id=agent.conversation)
    for number in range(20):
        session.hook("PreToolUse", tool_name="Bash", tool_input={"command": f"ls {number}"})
    workshop.state(agent)
    workshop.ask("end", agents=[name], key=f"end-{name}")
    sessions = workshop.context.sessions
    if isinstance(sessions, FakeSessions):
        sessions.forget_all()
    return agent.uid


def _read_everywhere(workshop: Workshop, threads: ThreadPoolExecutor, uid: Uid) -> None:
    """Has every connection look at all that the store holds, and give little of it."""
    at_once = threading.Barrier(_READERS)

    def read() -> None:
        def question(connection: sa.Connection) -> None:
            at_once.wait(30)
            for column in (tables.events.c.data, tables.intents.c.data, tables.agents.c.policy):
                text = sa.type_coerce(column, sa.Text)
                connection.execute(sa.select(sa.func.sum(sa.func.length(text)))).scalar()
            rows.agent(connection, uid)

        workshop.context.store.read(question)

    for reading in [threads.submit(read) for _ in range(_READERS)]:
        reading.result()


def _resident() -> int:
    """KiB of this process, without what is free inside of it."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE_KIB
