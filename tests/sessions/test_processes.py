from __future__ import annotations

import itertools
import os
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import psutil
import pytest
from tests.sessions.conftest import marked, until

from windlass.core.sessions import StopReport
from windlass.sessions import processes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.sessions.conftest import Stage

    from windlass.core.session_launch import Mode
    from windlass.sessions.tmux import Tmux

# Leaves the session twice over and forgets its environment, as daemons do.
DAEMON = """
import os, signal, sys, time
def daemon(env):
    if os.fork(): return
    os.setsid()
    if os.fork(): os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    os.execve("/bin/sleep", ["sleep", "100"], env)
daemon(dict(os.environ))
daemon({})
open(sys.argv[1], "w").close()
time.sleep(100)
"""

# Goes on in a thread when its first one has ended, and does not hear that it shall end.
HEADLESS = """
import ctypes, os, signal, sys, threading, time
if os.fork() == 0:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    threading.Thread(target=time.sleep, args=[100]).start()
    with open(sys.argv[1] + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
    ctypes.CDLL(None).pthread_exit(None)
time.sleep(100)
"""

# Ignores TERM and replaces itself all the time; holds a pipe open as long as any of it lives.
RESPAWNER = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
pipe = os.open(sys.argv[1], os.O_WRONLY)
os.set_inheritable(pipe, True)
os.write(pipe, b"ready")
if os.fork():
    time.sleep(100)
os.setsid()
if sys.argv[2] == "forget":
    os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", sys.argv[3], str(pipe)], {})
exec(sys.argv[3])
"""
# Ends by itself after a while, lest a failing test leave it to the machine.
CHAIN = """
import os, time
end = time.monotonic() + 10
while time.monotonic() < end:
    time.sleep(0.001)
    if os.fork():
        os._exit(0)
"""


class Chain:
    """A program that replaces itself, and the pipe that tells when the last of it has ended."""

    def __init__(self, stage: Stage, how: str) -> None:
        path = stage.file("pipe")
        os.mkfifo(path)
        stage.python(RESPAWNER, str(path), how, CHAIN, mode="headless")
        self._pipe = path.open("rb", buffering=0)
        assert self._pipe.read(5) == b"ready"

    def has_ended(self) -> bool:
        """Waits a moment for the end of the pipe, which comes with that of the last process."""
        with self._pipe:
            return bool(select.select([self._pipe], [], [], 2.0)[0]) and not self._pipe.read(1)


def test_a_willing_program_ends_by_term_alone(stage: Stage, tmux: Tmux) -> None:
    stage.start("sleep", "100")
    stage.holder()
    report = stage.stop()
    assert (report.terminated, report.killed, report.survivors) == (1, 0, ())
    assert stage.facts.exit_code == 128 + signal.SIGTERM
    assert tmux.sessions() == []


def test_a_program_may_clean_up_on_term(stage: Stage) -> None:
    seen = stage.file("seen")
    stage.start("sh", "-c", f"trap 'echo bye > {seen}; exit 7' TERM; echo up; while :; do "
                "sleep 0.05; done")  # fmt: skip
    until(lambda: "up" in stage.screen())
    assert stage.stop().survivors == ()
    assert stage.facts.exit_code == 7
    assert seen.read_text() == "bye\n"


def test_a_program_that_ignores_term_is_killed_after_the_grace(stage: Stage) -> None:
    stage.start("sh", "-c", "trap '' TERM HUP; echo up; while :; do sleep 100; done")
    until(lambda: "up" in stage.screen())
    begun = time.monotonic()
    report = stage.stop(grace=0.3)
    assert time.monotonic() - begun < 3
    assert report.killed >= 1
    assert report.survivors == ()
    assert stage.facts.exit_code == 128 + signal.SIGKILL


@pytest.mark.parametrize("held", [True, False])
def test_a_process_whose_first_thread_has_ended_is_found_all_the_same(
    stage: Stage, *, held: bool
) -> None:
    ready = stage.file("ready")
    stage.python(HEADLESS, str(ready))
    until(ready.exists)
    headless = psutil.Process(int(ready.read_text()))
    until(lambda: headless.status() == psutil.STATUS_ZOMBIE)
    if not held:
        psutil.Process(stage.holder()).kill()
    assert stage.stop(grace=0.2).survivors == ()
    until(lambda: not headless.is_running())


@pytest.mark.parametrize("mode", ["live", "headless"])
def test_daemons_that_left_the_session_and_their_environment_are_found(
    stage: Stage, mode: Mode
) -> None:
    ready = stage.file("ready")
    stage.python(DAEMON, str(ready), mode=mode)
    until(ready.exists)
    holder = psutil.Process(stage.holder())
    until(lambda: [one.name() for one in holder.children()].count("sleep") == 2)
    below = holder.children(recursive=True)
    report = stage.stop(grace=0.2)
    assert report.survivors == ()
    assert report.killed == 2
    assert not [one for one in below if one.is_running()]


@pytest.mark.parametrize("how", ["remember", "forget"])
def test_a_program_that_ignores_term_and_replaces_itself_is_ended(stage: Stage, how: str) -> None:
    chain = Chain(stage, how)
    assert stage.stop(grace=0.2).survivors == ()
    assert chain.has_ended()


def test_it_is_ended_without_a_holder_too(stage: Stage) -> None:
    chain = Chain(stage, "remember")
    os.kill(stage.holder(), signal.SIGKILL)
    stage.ended()
    assert stage.stop(grace=0.2).survivors == ()
    assert chain.has_ended()


def test_strays_are_found_when_tmux_and_holder_are_both_gone(stage: Stage, tmux: Tmux) -> None:
    ready = stage.file("ready")
    stage.python(DAEMON.replace("daemon({})", ""), str(ready))
    until(ready.exists)
    holder = stage.holder()
    os.kill(tmux.server_pid(), signal.SIGKILL)
    os.kill(holder, signal.SIGKILL)
    until(lambda: not tmux.alive())
    assert marked(stage.marker)
    assert stage.stop(grace=0.2).survivors == ()
    assert marked(stage.marker) == []


def test_stopping_again_or_before_the_start_is_fine(stage: Stage) -> None:
    nothing = StopReport()
    assert stage.stop() == nothing
    stage.start("sleep", "100")
    stage.holder()
    stage.stop()
    assert stage.stop() == nothing


@pytest.mark.slow
def test_stopping_in_the_middle_of_the_start_leaves_nothing(stages: Callable[[str], Stage]) -> None:
    for number in range(10):
        one = stages(f"a{number}")
        one.start("sleep", "100")
        assert one.stop(grace=1.0).survivors == ()
        assert marked(one.marker) == []


def test_what_is_gone_is_no_survivor_on_a_machine_on_which_every_look_takes_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Others may keep it busy: an agent that starts programs all the time would be enough."""
    seconds = itertools.count(step=3.0)
    monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
    report = processes.end_run("of nobody")
    assert report == StopReport(terminated=0, killed=0, survivors=())


def test_other_sessions_and_unmarked_processes_are_left_alone(
    stages: Callable[[str], Stage],
) -> None:
    one, other = stages("one"), stages("other")
    other.marker = f"{one.marker}-longer"
    for each in (one, other):
        each.start("sleep", "100")
        each.holder()
    bystander = subprocess.Popen(["sleep", "100"])
    try:
        one.stop()
        assert other.facts.alive
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()
    assert other.stop().terminated == 1


def test_a_stopper_that_carries_the_marker_itself_survives_with_its_children(
    stage: Stage,
) -> None:
    code = (
        "import subprocess, sys; from pathlib import Path;"
        "from windlass.sessions import processes;"
        "child = subprocess.Popen(['sleep', '100']);"
        "r = processes.stop(folder=Path(sys.argv[1]), name='a', marker=sys.argv[2], grace=0.2);"
        "print(r.survivors, child.poll()); child.kill(); child.wait()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(stage.folder), stage.marker],
        env={**os.environ, processes.MARKER: stage.marker},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "() None\n"


def test_a_command_runs_with_its_environment_and_says_how_it_ended(place: Path) -> None:
    log = place / "log"
    log.write_text("earlier\n")
    env = {"PATH": os.environ["PATH"], "A": "b"}
    done = processes.run("echo $A $PWD; exit 3", cwd=place, env=env, log=log, timeout=60, mark="t")
    assert (done.code, done.timed_out, done.tail) == (3, False, f"b {place}\n")
    assert log.read_text() == f"earlier\nb {place}\n"
    killed = processes.run("kill -9 $$", cwd=place, env=env, log=log, timeout=60, mark="t")
    assert killed.code == 137


def test_a_command_in_a_missing_folder_says_so(place: Path) -> None:
    done = processes.run("true", cwd=place / "no", env={}, log=place / "log", timeout=60, mark="t")
    assert done.code == 127
    assert "No such file" in done.tail


@pytest.mark.slow
def test_a_command_that_hangs_ends_with_its_whole_tree(place: Path) -> None:
    command = "(setsid sh -c 'trap \"\" TERM; echo $$ > pid; exec sleep 100' &) ; sleep 100"
    env = {"PATH": os.environ["PATH"]}
    done = processes.run(command, cwd=place, env=env, log=place / "log", timeout=0.3, mark="t")
    assert done.timed_out
    assert not lives(int((place / "pid").read_text()))


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
