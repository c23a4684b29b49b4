"""What becomes of a project's command, and of the person's own, when the daemon is killed."""

from __future__ import annotations

import os
import subprocess

import psutil
from tests.support.ground import WL, Ground, until

STAY = {"text": "WAITING"}
LONG = f"72{os.getpid():08}"
"""Seconds that nobody else sleeps, also no other worker that runs these tests."""


def sleeping() -> list[psutil.Process]:
    """Whoever sleeps so long, in a box or not."""
    return [p for p in psutil.process_iter() if _line_of(p) == ["sleep", LONG]]


def _line_of(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_a_setup_that_outlives_its_daemon_is_ended_before_it_is_run_again(ground: Ground) -> None:
    ground.configure(
        f"[workspace]\nsetup = '''echo x >> runs; test $(wc -l < runs) = 2 || sleep {LONG}'''\n"
    )
    script = ground.script("a1", STAY)
    new = ("new", "--driver", "standin", "--script", script, "--name", "a1", "--json", "hi")
    command = ground.start(*new)
    until(lambda: bool(sleeping()), what="the setup")
    (first,) = sleeping()
    ground.kill_daemon()
    out, said = command.communicate(timeout=60)
    assert command.returncode == 0, said
    assert not first.is_running() or first.status() == psutil.STATUS_ZOMBIE
    assert sleeping() == []
    assert ground.wl("exec", "a1", "--", "cat", "runs").ok().out == "x\nx\n"
    assert '"a1"' in out


def test_what_wl_exec_runs_is_the_persons_own_and_goes_on_without_a_daemon(ground: Ground) -> None:
    ground.new("a1", STAY)
    go = ground.shown / "go"
    os.mkfifo(go)
    command = subprocess.Popen(
        [WL, "exec", "a1", "--", "sh", "-c", f"echo begun; read line < {go}; echo $line"],
        cwd=ground.folder / "repo",
        env=ground.env,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert command.stdout is not None
    assert command.stdout.readline() == "begun\n"
    ground.kill_daemon()
    with go.open("w") as line:
        line.write("done\n")
    out, _ = command.communicate(timeout=30)
    assert (command.returncode, out) == (0, "done\n")
