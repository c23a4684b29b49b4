"""Programs that do what a test says, in real sessions and in fake ones."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tests.sessions.conftest import PYTHON, until
from tests.sessions.unkillable import unkillable
from tests.support.fake_sessions import FakeSessions

from windlass.core.ports import Sessions
from windlass.core.session_launch import Launch, Mode

_PROGRAM = """
import os, select, signal, socket, subprocess, sys
control = os.open(sys.argv[1], os.O_RDWR)
received = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
ready = select.poll()
ready.register(0, select.POLLIN)
ready.register(control, select.POLLIN)
while True:
    for descriptor, _ in ready.poll():
        data = os.read(descriptor, 65536)
        if descriptor == control:
            word, _, rest = data.decode().partition(" ")
            if word == "end":
                sys.exit(int(rest))
            elif word == "run":
                tool = subprocess.Popen(["sleep", rest])
            elif word == "hold":
                path, _, size = rest.rpartition(" ")
                held = os.open(path, os.O_RDWR | os.O_CREAT)
                os.write(held, b"x" * int(size))
                os.unlink(path)
            elif word == "suspend":
                tool.send_signal(signal.SIGSTOP)
            elif word == "connect":
                called = socket.socket(socket.AF_UNIX)
                called.connect(rest)
            else:
                os.write(1, rest.encode())
        elif data:
            os.write(received, data)
        else:
            ready.unregister(descriptor)
"""


class Program(Protocol):
    """What runs in a session, and does what the test says."""

    folder: Path
    name: str

    def launch(self, mode: Mode, stdin: str) -> Launch:
        """How it is started."""

    def show(self, text: str) -> None:
        """Has it show a line on its screen."""

    def say(self, text: str) -> None:
        """Has it print that, no more and no less."""

    def end(self, code: int) -> None:
        """Has it end."""

    def run_sleep(self, seconds: str) -> None:
        """Has it start `sleep` for so long."""

    def hold(self, size: int) -> None:
        """Has it write a file, delete it, and hold it open."""

    def suspend(self) -> None:
        """Has it stop its `sleep` by a signal, as a shell does with a job."""

    def connect(self, path: Path) -> None:
        """Has it open a connection to a socket."""

    def received(self) -> bytes:
        """What it has read by now."""


class Real:
    """A program in a real session; it is told what to do through a FIFO."""

    def __init__(self, place: Path, name: str) -> None:
        self.folder = place / name
        self.name = name
        self._control = place / f"{name}-control"
        self._received = place / f"{name}-received"
        os.mkfifo(self._control)

    def launch(self, mode: Mode, stdin: str) -> Launch:
        """How to start it."""
        argv = (*PYTHON, _PROGRAM, str(self._control), str(self._received))
        env = {"PATH": os.environ["PATH"]}
        return Launch(argv=argv, cwd="/", env=env, mode=mode, stdin=stdin)

    def show(self, text: str) -> None:
        """Clears the screen and draws a line."""
        self._tell(f"say \x1b[2J\x1b[H{text}\n")

    def say(self, text: str) -> None:
        """Prints it."""
        self._tell(f"say {text}")

    def end(self, code: int) -> None:
        """Ends with that code."""
        self._tell(f"end {code}")

    def run_sleep(self, seconds: str) -> None:
        """Starts it."""
        self._tell(f"run {seconds}")

    def hold(self, size: int) -> None:
        """Holds one."""
        self._tell(f"hold {self.folder}-held {size}")

    def suspend(self) -> None:
        """Stops it."""
        self._tell("suspend ")

    def connect(self, path: Path) -> None:
        """Opens one, and keeps it."""
        self._tell(f"connect {path}")

    def received(self) -> bytes:
        """What it wrote into its file."""
        return self._received.read_bytes() if self._received.exists() else b""

    def _tell(self, word: str) -> None:
        descriptor = os.open(self._control, os.O_RDWR)
        try:
            os.write(descriptor, word.encode())
            until(self._received.exists)  # it has the FIFO open, and so has the word
        finally:
            os.close(descriptor)


class Fake:
    """A fake session, driven by hand."""

    def __init__(self, sessions: FakeSessions, place: Path, name: str) -> None:
        self.folder = place / name
        self.name = name
        self._sessions = sessions

    def launch(self, mode: Mode, stdin: str) -> Launch:
        """Whatever: nothing is run."""
        return Launch(argv=("nothing",), cwd="/", env={}, mode=mode, stdin=stdin)

    def show(self, text: str) -> None:
        """Puts it on the screen."""
        self._sessions[self.name].show(text)

    def say(self, text: str) -> None:
        """Prints it."""
        self._sessions[self.name].say(text)

    def end(self, code: int) -> None:
        """Ends with that code."""
        self._sessions[self.name].end(code)

    def run_sleep(self, seconds: str) -> None:
        """Says that it runs."""
        self._sessions[self.name].tool = f"sleep {seconds} (pid 1)"

    def hold(self, size: int) -> None:
        """Says that it holds one."""
        self._sessions[self.name].nameless = size

    def suspend(self) -> None:
        """Says that it is stopped."""
        self._sessions[self.name].suspended = True

    def connect(self, path: Path) -> None:
        """Opens one from the test, and says that the test is of the session."""
        self._sessions[self.name].pids.add(os.getpid())
        with socket.socket(socket.AF_UNIX) as called:
            called.connect(str(path))

    def received(self) -> bytes:
        """What it was given."""
        return self._sessions[self.name].received


class House:
    """Sessions of one kind, and programs to run in them."""

    def __init__(self, sessions: Sessions, place: Path) -> None:
        self.sessions = sessions
        self.terminal = sessions.terminal
        self.place = place
        self._made: list[Program] = []

    def program(self, name: str = "a1") -> Program:
        """A program that is not started yet."""
        made: Program = (
            Fake(self.sessions, self.place, name)
            if isinstance(self.sessions, FakeSessions)
            else Real(self.place, name)
        )
        self._made.append(made)
        return made

    def start(
        self, program: Program, mode: Mode = "live", *, stdin: str = "", wake: Path | None = None
    ) -> bool:
        """Starts it in a session of its own."""
        return self.sessions.start(
            folder=program.folder,
            name=program.name,
            launch=program.launch(mode, stdin),
            wake=wake,
            marker=self.marker(program),
        )

    def alive(self, program: Program) -> bool:
        """Whether its session lives."""
        return self.sessions.facts(program.folder, program.name).alive

    def ended(self, program: Program, code: int = 0) -> None:
        """Has it end, and returns when that is known."""
        program.end(code)
        until(lambda: not self.alive(program))

    def stop(self, program: Program) -> tuple[str, ...]:
        """Stops its session; returns what would not end."""
        marker = self.marker(program)
        report = self.sessions.stop(
            folder=program.folder, name=program.name, marker=marker, grace=0.5
        )
        return report.survivors

    @contextmanager
    def unkillable(self, program: Program) -> Iterator[None]:
        """Keeps every signal from ending a program."""
        if isinstance(self.sessions, FakeSessions):
            session = self.sessions[program.name]
            session.unkillable = ("7 cat (disk-sleep)",)
            yield
            session.unkillable = ()
            return
        until(lambda: self._pid(program))
        with unkillable(self._pid(program)):
            yield

    def close(self) -> None:
        """Stops all of them."""
        for program in self._made:
            self.stop(program)

    def _pid(self, program: Program) -> int:
        return self.sessions.facts(program.folder, program.name).child_pid or 0

    def marker(self, program: Program) -> str:
        """What marks the processes of its session."""
        return f"contract-{self.place.name}-{program.name}"
