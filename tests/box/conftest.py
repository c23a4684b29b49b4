"""Boxes for tests: a ground of folders, one-off commands in a box, and boxed sessions in tmux."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
import pytest

from windlass.box import groups, toolchains, wrapper
from windlass.core.box_spec import BoxSpec
from windlass.core.session_launch import Launch, Mode, ReceiverSpec
from windlass.core.sessions import Facts, StopReport
from windlass.sessions.session import TmuxSessions
from windlass.sessions.tmux import Tmux

PYTHON = "/usr/bin/python3"
"""Any that is in every box; programs that tests run inside are written for what is there."""


def until(condition: Callable[[], object], *, seconds: float = 20.0) -> None:
    """Returns as soon as the condition holds; fails loudly when it never does."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"waited {seconds} s in vain")
        time.sleep(0.005)


class Ground:
    """Folders that belong to one test, and what is shown of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.sockets = folder / "s"
        self.files = folder / "box"
        for made in (self.work, self.sockets):
            made.mkdir(mode=0o700)
        self.boxing = BoxSpec(writable=(str(self.work),), network="none")

    def show(self, **changes: object) -> None:
        """Changes the box."""
        self.boxing = msgspec.structs.replace(self.boxing, **changes)

    def run(
        self,
        *argv: str,
        env: Mapping[str, str] | None = None,
        input: str | None = None,  # noqa: A002 - as subprocess calls it
        timeout: float = 60.0,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a command in the box and returns how it went."""
        given = {"PATH": "/usr/bin:/bin"} if env is None else env
        line = wrapper.prefix(self.boxing, folder=self.files, env=given, cwd=str(self.work))
        return subprocess.run(
            [*line, *argv],
            env={},
            input=input,
            stdin=subprocess.DEVNULL if input is None else None,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=timeout,
            start_new_session=True,
            check=False,
        )

    def python(self, code: str, *arguments: str, timeout: float = 60.0) -> str:
        """Runs a program in the box and returns what it printed; it has to go well."""
        program, needed = wrapper.interpreter()
        self.show(readable=(*self.boxing.readable, *needed))
        done = self.run(program, "-I", "-c", code, *arguments, timeout=timeout)
        assert done.returncode == 0, done.stderr
        return done.stdout


class Stage:
    """One boxed session in a private tmux."""

    def __init__(self, ground: Ground, sessions: TmuxSessions, name: str) -> None:
        self.ground = ground
        self.sessions = sessions
        self.name = name
        self.folder = ground.folder / name
        self.marker = f"test-{uuid.uuid4().hex}"

    def start(
        self,
        *argv: str,
        mode: Mode = "live",
        env: Mapping[str, str] | None = None,
        receiver: ReceiverSpec | None = None,
        secrets: dict[str, str] | None = None,
        relayed: bool = False,
    ) -> None:
        """Starts the session."""
        launch = Launch(
            argv=argv,
            cwd=str(self.ground.work),
            env={"PATH": "/usr/bin:/bin", **(env or {})},
            mode=mode,
            columns=80,
            lines=24,
            receiver=receiver,
            secrets=secrets or {},
            relayed=relayed,
        )
        _, needed = wrapper.interpreter()
        boxing = msgspec.structs.replace(
            self.ground.boxing, readable=(*self.ground.boxing.readable, *needed)
        )
        wrapped = wrapper.wrap(launch, boxing, folder=self.folder, sockets=self.ground.sockets)
        self.sessions.start(
            folder=self.folder, name=self.name, launch=wrapped, wake=None, marker=self.marker
        )

    def python(self, code: str, *arguments: str, mode: Mode = "live") -> None:
        """Starts a Python program in the session."""
        self.start(wrapper.interpreter()[0], "-I", "-c", code, *arguments, mode=mode)

    def keys(self, *names: str) -> None:
        """Presses keys in its terminal."""
        tmux = self.sessions.tmux
        line = ["tmux", "-S", str(tmux.socket), "send-keys", "-t", f"={self.name}:", *names]
        subprocess.run(line, check=True)

    def resize(self, columns: int, lines: int) -> None:
        """Gives its terminal another size."""
        tmux = self.sessions.tmux
        size = ["-x", str(columns), "-y", str(lines)]
        line = ["tmux", "-S", str(tmux.socket), "resize-window", "-t", f"={self.name}:", *size]
        subprocess.run(line, check=True)

    def said(self, name: str = "said") -> str:
        """What its program wrote to a file in the workspace."""
        path = self.ground.work / name
        return path.read_text() if path.exists() else ""

    def output(self) -> str:
        """What a headless one printed."""
        path = self.folder / "output"
        return path.read_text() if path.exists() else ""

    @property
    def facts(self) -> Facts:
        """What is known about it now."""
        return self.sessions.facts(self.folder, self.name)

    def ended(self) -> Facts:
        """Waits for its end."""
        until(lambda: self.facts.exit_code is not None)
        return self.facts

    def stop(self, *, grace: float = 5.0) -> StopReport:
        """Stops it."""
        return self.sessions.stop(
            folder=self.folder, name=self.name, marker=self.marker, grace=grace
        )


@pytest.fixture
def ground() -> Iterator[Ground]:
    """A ground with a short path; the groups of its boxes are removed."""
    path = Path(tempfile.mkdtemp(prefix="wlb", dir="/tmp"))
    made = Ground(path)
    yield made
    assert groups.remove(made.files)
    shutil.rmtree(path)


@pytest.fixture
def stage(ground: Ground) -> Iterator[Stage]:
    """One boxed session, ended afterwards with all that belongs to it."""
    server = Tmux(ground.folder / "t")
    one = Stage(ground, TmuxSessions(server), "a1")
    yield one
    report = one.stop(grace=0.5)
    server.shutdown()
    until(lambda: not server.alive())
    assert report.survivors == ()
    assert groups.remove(one.folder)


@pytest.fixture(scope="session")
def tools() -> tuple[str, ...]:
    """What has to be shown so that this very virtual environment works in a box."""
    path = f"{sys.prefix}/bin"
    source = os.path.dirname(os.path.dirname(wrapper.__file__))  # noqa: PTH120
    return (*toolchains.find(path), source)
