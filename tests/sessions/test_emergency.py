"""Ending everything at once, on real sessions: nothing asks a daemon, and nothing is left."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from tests.sessions.conftest import Stage, marked, until

from windlass.sessions import emergency
from windlass.sessions.session import TmuxSessions
from windlass.sessions.tmux import Tmux

STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
open(sys.argv[1], "w").close()
time.sleep(100)
"""


def staged(tmux: Tmux, home: Path, name: str) -> Stage:
    folder = home / "agents" / name / "sessions" / "1"
    folder.parent.mkdir(parents=True)
    return Stage(TmuxSessions(tmux), folder, name)


def test_every_session_of_a_state_folder_ends_within_two_seconds_and_no_other(
    tmux: Tmux, place: Path
) -> None:
    crew = [staged(tmux, place / "home", name) for name in ("a", "b", "c")]
    other = staged(tmux, place / "elsewhere", "d")
    try:
        for stage in (*crew, other):
            stage.python(STUBBORN, str(stage.file("up")))
        for stage in (*crew, other):
            until(stage.file("up").exists)
        began = time.monotonic()
        ended = emergency.end_all(place / "home")
        took = time.monotonic() - began
        assert ended == (3, ())
        assert took < 2
        assert [pid for stage in crew for pid in marked(stage.marker)] == []
        assert not any(stage.facts.alive for stage in crew)
        assert other.facts.alive
    finally:
        for stage in (*crew, other):
            stage.stop(grace=0.0)


def test_a_session_without_its_holder_is_found_by_its_mark(tmux: Tmux, place: Path) -> None:
    stage = staged(tmux, place / "home", "a")
    try:
        stage.python(STUBBORN, str(stage.file("up")))
        until(stage.file("up").exists)
        os.kill(stage.holder(), 9)
        assert emergency.end_all(place / "home") == (1, ())
        assert marked(stage.marker) == []
    finally:
        stage.stop(grace=0.0)


@pytest.mark.parametrize("made", [True, False])
def test_where_nothing_runs_nothing_is_ended(place: Path, *, made: bool) -> None:
    if made:
        (place / "home").mkdir()
    assert emergency.end_all(place / "home") == (0, ())
