"""Whose process a caller is, however it hides."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.sessions.conftest import PYTHON, Stage, until

from windlass.api import peers
from windlass.core.errors import Denied, Unavailable
from windlass.core.sessions import Mark, Peer
from windlass.sessions import census
from windlass.sessions import peers as climb
from windlass.sessions.processes import MARKER

# Becomes a process that opens a connection, in the way that it is told, and stays.
CALLER = """
import os, signal, socket, sys, threading, time
how, path = sys.argv[1:]
def call():
    called = socket.socket(socket.AF_UNIX)
    called.connect(path)
    return called
def become(env):
    argv = [*sys.orig_argv[:5], "plain", path]
    os.execve(sys.executable, argv, env)
def with_thread():
    if os.fork() == 0: become({})
    time.sleep(100)
if how == "bare":
    if os.fork() == 0: become({})
elif how == "forged":
    if os.fork() == 0: become({"WINDLASS_SESSION": "of another", "WINDLASS_HOME": "/elsewhere"})
elif how == "below another":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # who ends is gone at once
    if os.fork() == 0:
        if os.fork() == 0: become({})
        time.sleep(100)
elif how == "detached":
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: become({})
        os._exit(0)
elif how == "below a thread":
    if os.fork() == 0:
        threading.Thread(target=with_thread).start()
        import ctypes
        ctypes.CDLL(None).pthread_exit(None)
elif how == "handed":
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        socket.send_fds(theirs, [b"x"], [call().fileno()])
        os._exit(0)
    os.wait()
    _, kept, _, _ = socket.recv_fds(ours, 1, 1)
elif how == "unreadable":
    import ctypes
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
        kept = call()
        time.sleep(100)
else:
    kept = call()
time.sleep(100)
"""


class Door:
    """A socket at which processes call."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        self._socket.settimeout(20)
        self._let_in: list[socket.socket] = []

    def caller(self) -> Peer:
        """Who calls next."""
        connection, _ = self._socket.accept()
        self._let_in.append(connection)
        return peers.take(connection, peers.number(connection) or 0)

    def close(self) -> None:
        """Leaves no connection."""
        for each in (self._socket, *self._let_in):
            each.close()


@pytest.fixture
def door(place: Path) -> Iterator[Door]:
    """A socket of the test's."""
    made = Door(place / "door")
    yield made
    made.close()


def markers(peer: Peer) -> list[str]:
    """The markers that a process and those above it bear, the outermost first."""
    try:
        return [mark.marker for mark in climb.marks(peer)]
    finally:
        peers.release(peer)


@pytest.mark.parametrize(
    "how", ["plain", "bare", "forged", "detached", "below a thread", "unreadable"]
)
def test_the_outermost_mark_of_whatever_runs_in_a_session_is_the_sessions(
    stage: Stage, door: Door, how: str
) -> None:
    stage.python(CALLER, how, str(door.path), mode="headless")
    assert markers(door.caller())[0] == stage.marker


def test_a_process_of_which_the_holder_was_killed_is_known_by_its_own_environment(
    stage: Stage, door: Door
) -> None:
    stage.python(CALLER, "plain", str(door.path), mode="headless")
    caller = door.caller()
    holder = psutil.Process(stage.holder())
    holder.kill()
    until(lambda: psutil.Process(caller.pid).ppid() != holder.pid)
    assert markers(caller) == [stage.marker]


def test_a_connection_that_was_handed_on_is_nobodys_once_the_process_that_opened_it_is_gone(
    stage: Stage, door: Door
) -> None:
    stage.python(CALLER, "handed", str(door.path), mode="headless")
    caller = door.caller()
    until(lambda: not psutil.pid_exists(caller.pid))
    with pytest.raises(Unavailable, match="is gone"):
        markers(caller)


def test_a_process_that_took_the_number_of_one_that_is_gone_is_not_taken_for_it(
    stage: Stage, door: Door
) -> None:
    stage.python(CALLER, "handed", str(door.path), mode="headless")
    gone = door.caller()
    until(lambda: not psutil.pid_exists(gone.pid))
    with pytest.raises(Unavailable, match="is gone"):
        markers(Peer(os.getpid(), gone.handle))


def test_a_mark_says_the_state_folder_that_its_process_was_told(stage: Stage, door: Door) -> None:
    env = {"WINDLASS_HOME": "/state", f"{MARKER}X": "no", f"X{MARKER}": "nor this"}
    stage.start(*PYTHON, CALLER, "plain", str(door.path), mode="headless", env=env)
    caller = door.caller()
    assert list(climb.marks(caller))[-1] == Mark(stage.marker, "/state")
    peers.release(caller)


def test_what_is_above_the_daemon_is_not_above_those_who_are_below_it() -> None:
    """A daemon that an agent's command started works for everybody all the same."""
    daemon = f"""
import subprocess, sys
sys.path[:0] = {sys.path!r}
from windlass.core.sessions import Peer
from windlass.sessions import peers
child = subprocess.Popen(["sleep", "100"], env={{}})
print(list(peers.marks(Peer(child.pid))))
child.kill()
"""
    done = subprocess.run(
        [sys.executable, "-c", daemon],
        env={**os.environ, MARKER: "of who started it"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"


def test_whoever_piles_up_processes_is_refused_and_not_taken_for_somebody_else(
    stage: Stage, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(climb, "_DEEPEST", 2)
    stage.python(CALLER, "bare", str(door.path), mode="headless")
    with pytest.raises(Denied, match="more than 2 others above it"):
        markers(door.caller())


def test_a_parent_that_ends_during_the_climb_makes_it_begin_again(
    stage: Stage, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.python(CALLER, "below another", str(door.path), mode="headless")
    caller = door.caller()
    parent = psutil.Process(caller.pid).parent()
    assert parent is not None
    descent = census.descent

    def ends(pid: int) -> census.Descent | None:
        if pid == parent.pid and parent.is_running():
            parent.send_signal(signal.SIGKILL)
            until(lambda: psutil.Process(caller.pid).ppid() != parent.pid)
        return descent(pid)

    monkeypatch.setattr(census, "descent", ends)
    assert markers(caller) == [stage.marker]


def test_processes_that_this_system_does_not_show_end_the_climb(
    stage: Stage, door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.python(CALLER, "plain", str(door.path), mode="headless")
    caller = door.caller()
    above = psutil.Process(stage.holder()).ppid()
    descent = census.descent
    monkeypatch.setattr(census, "descent", lambda pid: None if pid == above else descent(pid))
    assert markers(caller)[0] == stage.marker
