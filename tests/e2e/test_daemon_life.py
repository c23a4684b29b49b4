"""The daemon's life as its callers see it: found from every shell, stopped for good, killed."""

from __future__ import annotations

import itertools
import json
import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from tests.support.ground import WL, Ground, until

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unboxed")]


@pytest.fixture(autouse=True)
def cold(ground: Ground) -> None:
    """`wl` starts every daemon itself."""
    ground.warm = False


STAY = {"text": "WAITING"}


class Reader:
    """`wl log -f`, and the ids of what it printed."""

    def __init__(self, ground: Ground) -> None:
        self.process = ground.start("log", "--follow", "--json", "--lines", "10000")
        self.ids: list[int] = []
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.ids.append(json.loads(line)["id"])

    def leave(self) -> str:
        """Ends it and gives what it complained about."""
        self.process.terminate()
        self._thread.join()
        return self.process.communicate()[1]


def test_shells_with_other_environments_reach_the_same_daemon_and_sessions(
    ground: Ground,
) -> None:
    ground.new("a1", STAY, {"await": "message"}, STAY)
    ground.wait("a1", states="waiting")
    pid = ground.daemon_pid()
    other = ground.folder / "other"
    other.mkdir(mode=0o700)
    shells: tuple[dict[str, str], ...] = (
        {"XDG_RUNTIME_DIR": str(other)},
        {"XDG_RUNTIME_DIR": "", "TMPDIR": str(other)},
        {"XDG_RUNTIME_DIR": "/run/user/none", "TMPDIR": "/none"},
        {},
    )
    for env in shells:
        assert ground.wl("list", "--json", env=env).ok().json()[0]["id"] == "a1"
        assert ground.wl("look", "a1", env=env).ok().out
        ground.wl("send", "a1", "hello", env=env).ok()
        told = ground.wl("daemon", "status", "--json", env=env).ok().json()
        assert told["pid"] == pid
        assert told["socket"].startswith(str(ground.runtime))
    ground.kill_daemon()
    ground.wl("look", "a1", env=shells[0]).ok()
    assert list(other.iterdir()) == []


def test_readers_see_every_event_once_however_the_daemon_ends(ground: Ground) -> None:
    ground.new("a1", STAY)
    ground.wait("a1", states="waiting")
    readers = [Reader(ground) for _ in range(4)]
    ending = itertools.cycle((signal.SIGTERM, signal.SIGKILL))
    try:
        for number in range(6):
            noting = ground.start("note", "--agent", "a1", f"note {number}")
            process = psutil.Process(ground.daemon_pid())
            process.send_signal(next(ending))
            process.wait(20)
            assert noting.communicate(timeout=60)[1] == ""
            ground.wl("note", "--agent", "a1", f"and {number}").ok()
        known = [event["id"] for event in ground.events()]
        until(
            lambda: all(reader.ids[-1:] == known[-1:] for reader in readers),
            what="the last event in every reader",
        )
    finally:
        complaints = [reader.leave() for reader in readers]
    assert complaints == [""] * 4
    assert [reader.ids for reader in readers] == [known] * 4


def test_a_stopped_daemon_stays_stopped_and_a_killed_one_comes_back_for_its_readers(
    ground: Ground,
) -> None:
    ground.wl("init").ok()
    reader = Reader(ground)
    try:
        until(lambda: _connected(ground) > 0, what="the reader's stream")
        ground.wl("daemon", "stop").ok()
        end = time.monotonic() + 2  # a reader that started one would need a quarter of it
        while time.monotonic() < end:
            assert ground.daemon_pid() is None
        ground.wl("list").ok()
        until(lambda: _connected(ground) > 0, what="the reader's next stream")
        ground.kill_daemon()
        until(lambda: ground.daemon_pid() is not None, what="a daemon that the reader started")
    finally:
        assert reader.leave() == ""


def _connected(ground: Ground) -> int:
    """How many connections the daemon has on the person's socket."""
    pid = ground.daemon_pid()
    if pid is None:
        return 0
    found = psutil.Process(pid).net_connections("unix")
    return sum(1 for one in found if "person.sock" in str(one.laddr)) - 1


def test_a_command_right_after_a_stop_gets_a_daemon_of_its_own(ground: Ground) -> None:
    ground.wl("list").ok()
    pid = ground.daemon_pid()
    assert pid is not None
    (path,) = ground.runtime.glob("windlass/*/person.sock")
    os.kill(pid, signal.SIGTERM)
    until(lambda: not path.exists(), what="the end of its socket")
    ground.wl("list").ok()
    assert ground.daemon_pid() not in (None, pid)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("after=999999999999999999999", "usage"),
        (f"after={'9' * 5000}", "usage"),
        ("after=-1", "usage"),
        ("after=x", "usage"),
        ("agent=nobody", "not_found"),
    ],
)
def test_an_event_stream_that_cannot_be_is_refused_in_json(
    ground: Ground, query: str, said: str
) -> None:
    ground.wl("list").ok()
    (path,) = ground.runtime.glob("windlass/*/person.sock")
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(str(path))
        asking.sendall(f"GET /v1/events?{query} HTTP/1.0\r\n\r\n".encode())
        answer = b"".join(iter(lambda: asking.recv(4096), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b" 40" in head.splitlines()[0]
    assert json.loads(body)["kind"] == said


def _ended(process: int, *, within: float = 0.0) -> bool:
    """Whether a process, watched by its descriptor, has ended by then."""
    ends = select.poll()
    ends.register(process, select.POLLIN)
    return bool(ends.poll(within * 1000))


def test_a_daemon_whose_lock_was_moved_away_has_ended_before_the_next_one_begins(
    ground: Ground,
) -> None:
    ground.new("a1", STAY, {"await": "message"}, STAY)
    ground.wait("a1", states="waiting")
    pid = ground.daemon_pid()
    assert pid is not None
    watched = os.pidfd_open(pid)
    (ground.state / "daemon.lock").rename(ground.folder / "moved")
    second = ground.start("daemon", "run")  # or one that the session's holder brings back
    try:
        until(lambda: ground.daemon_pid() not in (None, pid), what="the second daemon's lock")
        assert _ended(watched)
        assert ground.state_of("a1") == "waiting"
        ground.wl("daemon", "stop").ok()
    finally:
        os.close(watched)
        second.kill()
        second.communicate()


def test_a_daemon_whose_lock_was_deleted_ends_and_the_next_command_starts_one(
    ground: Ground,
) -> None:
    ground.wl("list").ok()
    pid = ground.daemon_pid()
    assert pid is not None
    watched = os.pidfd_open(pid)
    (ground.state / "daemon.lock").unlink()
    ground.wl("list").ok()
    assert _ended(watched, within=20)
    os.close(watched)
    ground.wl("list").ok()
    assert ground.daemon_pid() not in (None, pid)


def test_a_folder_whose_name_is_not_utf8_is_named(ground: Ground) -> None:
    odd = ground.folder / os.fsdecode(b"odd-\xff")
    odd.mkdir()
    for command in (("list",), ("log", "-f"), ("new", "x")):
        done = ground.wl(*command, cwd=odd).failed(2)
        assert "the folder's name is not UTF-8" in done.err
    done = ground.wl("new", os.fsdecode(b"half a \xff")).failed(2)
    assert "goal is not UTF-8" in done.err


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda state: (state / "daemon.lock").mkdir(), "daemon.lock"),
        (lambda state: (state / "daemon.err").mkdir(), "daemon.err"),
        (lambda state: (state / "daemon.log").mkdir(), "daemon.log"),
        (lambda state: (state / "starting.lock").mkdir(), "starting.lock"),
        (lambda state: (state / "runtime").mkdir(), "state/runtime"),
    ],
)
def test_a_state_folder_that_was_spoiled_is_told_in_words(
    ground: Ground, spoil: Callable[[Path], None], said: str
) -> None:
    spoil(ground.state)
    done = ground.wl("list")
    assert done.code in (3, 6)
    assert said in done.failed(done.code).err


def test_a_caller_without_standard_files_starts_a_daemon(ground: Ground) -> None:
    """As cron jobs and badly written supervisors are."""
    line = f"exec {WL} list <&- >&- 2>&-"
    subprocess.run(["sh", "-c", line], cwd=ground.folder, env=ground.env, check=False)
    assert ground.daemon_pid() is not None


def test_a_scale_of_the_clock_that_is_none_keeps_the_daemon_from_starting(ground: Ground) -> None:
    refused = ground.wl("list", env={"WINDLASS_CLOCK_SCALE": "fast"})
    assert refused.code == 3
    assert "WINDLASS_CLOCK_SCALE is 'fast'" in refused.err
    assert "unset" in refused.err
    ground.wl("list", env={"WINDLASS_CLOCK_SCALE": "20"}).ok()
