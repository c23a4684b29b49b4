"""Holders watch over the daemon: here its lock is the test's, and so is what is started."""

from __future__ import annotations

import fcntl
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.sessions.conftest import Stage, until

from windlass.sessions.session import TmuxSessions
from windlass.sessions.tmux import Tmux

_STARTED = """
import os, sys, time
line = f"{time.monotonic()} {sorted(os.environ)}\\n"
with open(sys.argv[1] + "/starts", "a") as file:
    file.write(line)
"""


class Home:
    """A state folder, and who was started for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "program.py").write_text(_STARTED)
        program = [sys.executable, "-I", "-S", str(folder / "program.py")]
        (folder / "daemon.start").write_text(json.dumps({"program": program, "env": {}}))

    @contextmanager
    def daemon(self) -> Iterator[None]:
        """Is the daemon, as far as its lock goes."""
        with (self.folder / "daemon.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def starts(self) -> list[tuple[float, str]]:
        """When something was started, and with which variables."""
        try:
            lines = (self.folder / "starts").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [(float(line.split(" ", 1)[0]), line.split(" ", 1)[1]) for line in lines]


@pytest.fixture
def home(place: Path) -> Home:
    """With a start that was written down."""
    return Home(place / "it's home")


@pytest.fixture
def watching(home: Home, tmux: Tmux, place: Path) -> Iterator[Callable[[str], Stage]]:
    """Starts sessions whose holders watch over that folder's daemon."""
    made: list[Stage] = []

    def make(name: str) -> Stage:
        made.append(Stage(TmuxSessions(tmux, home=home.folder), place / name, name))
        made[-1].start("sleep", "600")
        made[-1].holder()
        return made[-1]

    yield make
    for stage in made:
        stage.stop(grace=0.2)


def test_it_is_started_when_the_lock_is_free_with_nothing_of_an_agents_and_ever_more_seldom(
    home: Home, watching: Callable[[str], Stage]
) -> None:
    with home.daemon():
        watching("a1")
        watching("a2")
        assert home.starts() == []
    until(lambda: len(home.starts()) >= 4)
    times = [at for at, _ in home.starts()]
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert gaps[0] > 0.35
    assert gaps[1] > 0.7
    assert gaps[2] > 1.4
    assert all("WINDLASS" not in names and "TMUX" not in names for _, names in home.starts())


def test_the_next_holder_watches_when_the_first_has_ended(
    home: Home, watching: Callable[[str], Stage]
) -> None:
    with home.daemon():
        first = watching("a1")
        watching("a2")
        first.stop()
    until(lambda: bool(home.starts()))


def test_nothing_is_started_while_the_person_wants_none(
    home: Home, watching: Callable[[str], Stage]
) -> None:
    mark = home.folder / "daemon.stopped"
    mark.touch()
    stage = watching("a1")
    watched = home.folder / "daemon.watch"
    until(watched.exists)
    until(lambda: _is_locked(watched))
    assert home.starts() == []
    mark.unlink()
    until(lambda: bool(home.starts()))
    assert stage.facts.alive


def test_why_a_try_came_to_nothing_is_kept_and_not_shown_to_the_agent(
    home: Home, watching: Callable[[str], Stage]
) -> None:
    said = home.folder / "daemon.return"

    def keeps(what: str) -> None:
        until(lambda: said.exists() and what in said.read_text())

    (home.folder / "program.py").write_text("raise SystemExit('no room for a daemon')")
    with home.daemon():
        stage = watching("a1")
        tmux = stage.sessions.tmux
        moved = tmux.socket.rename(tmux.socket.with_name("moved"))
    try:
        keeps(str(tmux.socket))
    finally:
        moved.rename(tmux.socket)
    keeps("no room for a daemon")
    (home.folder / "daemon.start").write_text("[]")
    keeps("TypeError")
    assert tmux.capture(stage.name).strip() == ""


def _is_locked(path: Path) -> bool:
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False
