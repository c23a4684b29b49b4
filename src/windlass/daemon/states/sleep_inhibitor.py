"""Keeps the machine awake while agents work: `systemd-inhibit` or `caffeinate`, where there is one.

One program at a time, which reads from a pipe that only this daemon holds: however the daemon ends,
the pipe is closed, and the program and its inhibition end with it.
"""

from __future__ import annotations

import logging
import shutil
import subprocess
import threading
from contextlib import suppress

from windlass.core.states import State
from windlass.daemon.kernel.context import Context
from windlass.store import rows

log = logging.getLogger(__name__)

_OPEN = frozenset({State.CREATING, State.RUNNING, State.COMPACTING, State.RATE_LIMITED})
"""States in which an agent does something, or goes on by itself."""
_WHY = "agents are at work"
_PROGRAMS = (
    ("systemd-inhibit", "--what=sleep:idle", "--who=Windlass", f"--why={_WHY}", "--mode=block"),
    ("caffeinate", "-i"),
)
_AGAIN = 600.0
"""Seconds after which it is tried again with a program that ended by itself."""
_PATIENCE = 2.0


class SleepInhibitor:
    """Holds the machine awake, or lets it sleep, by what agents do now."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._program: subprocess.Popen[bytes] | None = None
        self._not_before = 0.0
        self._closed = False
        self._guard = threading.Lock()

    def look(self) -> None:
        """Begins to hold the machine awake, or ends that."""
        agents = self._context.store.read(rows.agents)
        works = any(agent.state in _OPEN for agent in agents)
        with self._guard:
            self._notice_end()
            if works and self._program is None and not self._closed:
                self._begin()
            elif not works:
                self._end()

    def close(self) -> None:
        """Lets the machine sleep, for good."""
        with self._guard:
            self._closed = True
            self._end()

    def pid(self) -> int | None:
        """The program that holds the machine awake now."""
        return self._program.pid if self._program is not None else None

    def _begin(self) -> None:
        clock, path = self._context.clock, self._context.env.get("PATH")
        found = next((p for p in _PROGRAMS if shutil.which(p[0], path=path)), None)
        if found is None or clock.monotonic() < self._not_before:
            return
        self._not_before = clock.monotonic() + _AGAIN
        try:
            self._program = subprocess.Popen(
                [*found, "cat"],
                cwd="/",
                env=self._context.env,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            log.warning("the machine cannot be held awake: %s", error)

    def _notice_end(self) -> None:
        if self._program is not None and self._program.poll() is not None:
            log.warning("what held the machine awake ended with %d", self._program.returncode)
            self._forget(self._program)

    def _end(self) -> None:
        program = self._program
        if program is None:
            return
        self._not_before = 0.0
        self._forget(program)
        try:
            program.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()

    def _forget(self, program: subprocess.Popen[bytes]) -> None:
        self._program = None
        if program.stdin is not None:
            with suppress(OSError):
                program.stdin.close()
