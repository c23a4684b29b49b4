"""A private tmux server per test in a short folder, sessions on it, and nothing left behind."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from windlass.core.session_launch import Launch, Mode, ReceiverSpec
from windlass.core.sessions import Facts, StopReport
from windlass.sessions import census
from windlass.sessions.processes import MARKER
from windlass.sessions.session import TmuxSessions
from windlass.sessions.tmux import Tmux

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PYTHON = (sys.executable, "-I", "-S", "-c")


def until(condition: Callable[[], object], *, seconds: float = 10.0) -> None:
    """Returns as soon as the condition holds; fails loudly when it never does."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {seconds} s in vain")
        time.sleep(0.002)


def marked(marker: str) -> list[int]:
    """Lists the living processes that carry a marker."""
    sign = f"{MARKER}={marker}".encode()
    return [pid for pid, entry in census.take().items() if entry.has(sign)]


class Stage:
    """One session under test: its folder, name, marker and terminal."""

    def __init__(self, sessions: TmuxSessions, folder: Path, name: str) -> None:
        self.sessions = sessions
        self.folder = folder
        self.name = name
        self.marker = f"test-{uuid.uuid4().hex}"

    def start(
        self,
        *argv: str,
        mode: Mode = "live",
        columns: int = 80,
        lines: int = 24,
        env: dict[str, str] | None = None,
        cwd: str = "/",
        wake: Path | None = None,
        receiver: ReceiverSpec | None = None,
        secrets: dict[str, str] | None = None,
    ) -> bool:
        """Starts the session with little in its environment."""
        launch = Launch(
            argv=argv,
            cwd=cwd,
            env={"PATH": os.environ["PATH"], **(env or {})},
            mode=mode,
            columns=columns,
            lines=lines,
            receiver=receiver,
            secrets=secrets or {},
        )
        return self.sessions.start(
            folder=self.folder, name=self.name, launch=launch, wake=wake, marker=self.marker
        )

    def python(self, code: str, *arguments: str, mode: Mode = "live") -> None:
        """Starts a Python program in the session."""
        self.start(*PYTHON, code, *arguments, mode=mode)

    @property
    def facts(self) -> Facts:
        """What is known about it now."""
        return self.sessions.facts(self.folder, self.name)

    def ended(self) -> Facts:
        """Waits for its end."""
        until(lambda: not self.facts.alive)
        return self.facts

    def holder(self) -> int:
        """Waits until the program runs; returns who holds it."""
        until(lambda: self.facts.child_pid)
        return self.facts.holder_pid or 0

    def stop(self, *, grace: float = 5.0) -> StopReport:
        """Stops it."""
        return self.sessions.stop(
            folder=self.folder, name=self.name, marker=self.marker, grace=grace
        )

    def file(self, name: str) -> Path:
        """Names a file for the program to write; waits for nothing."""
        return self.folder.parent / f"{self.name}-{name}"

    def screen(self) -> str:
        """The text on its screen."""
        return self.sessions.tmux.capture(self.name)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder with a short path: unix sockets allow about a hundred bytes."""
    path = Path(tempfile.mkdtemp(prefix="wl", dir="/tmp"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def tmux(place: Path) -> Iterator[Tmux]:
    """A private server, not started yet."""
    server = Tmux(place / "t")
    yield server
    server.shutdown()
    until(lambda: not server.alive())


@pytest.fixture
def stages(tmux: Tmux, place: Path) -> Iterator[Callable[[str], Stage]]:
    """Makes sessions by name; ends them all and proves that nothing of them is left."""
    made: list[Stage] = []

    def make(name: str) -> Stage:
        made.append(Stage(TmuxSessions(tmux), place / name, name))
        return made[-1]

    yield make
    for one in made:
        one.stop(grace=0.2)
    assert [pid for one in made for pid in marked(one.marker)] == []


@pytest.fixture
def stage(stages: Callable[[str], Stage]) -> Stage:
    """One session."""
    return stages("a1")
