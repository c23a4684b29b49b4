"""A daemon is killed while its git writes; the next one begins only when that git is gone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.chaos.test_killed_between_effects import HELLO
from tests.support.ground import Ground, until


class SlowGit:
    """A git that stops before it changes a ref, once, until it is let go; and a list of calls."""

    def __init__(self, ground: Ground) -> None:
        folder = ground.folder / "bin"
        folder.mkdir()
        self._armed, self._pid = folder / "armed", folder / "pid"
        self._calls, self._go = folder / "calls", folder / "go"
        os.mkfifo(self._go)
        program = folder / "git"
        program.write_text(
            f"#!/bin/sh\necho x >> {self._calls}\n"
            f'case "$*" in update-ref*) if rm {self._armed} 2> /dev/null; then\n'
            f"  echo $$ > {self._pid}.new; mv {self._pid}.new {self._pid}; read line < {self._go}\n"
            f'fi;; esac\nexec {shutil.which("git")} "$@"\n'
        )
        program.chmod(0o755)
        ground.env["PATH"] = f"{folder}:{ground.env['PATH']}"

    def arm(self) -> None:
        """Has the next call stop."""
        self._armed.touch()

    def stopped(self) -> int:
        """Waits for the call that stops; which process it is."""
        until(self._pid.exists, what="a change of a ref")
        return int(self._pid.read_text())

    def calls(self) -> int:
        """How often git was called."""
        return len(self._calls.read_text().split())

    def let_go(self) -> None:
        """Has the stopped call go on."""
        with self._go.open("w") as go:
            go.write("on\n")


def test_nothing_is_gone_on_with_while_git_of_the_killed_daemon_writes(ground: Ground) -> None:
    git = SlowGit(ground)
    ground.wl("list").ok()
    git.arm()
    script = ground.script("a1", *HELLO)
    command = ground.start("new", "--driver", "standin", "--script", script, "--name", "a1", "hi")
    pid = git.stopped()
    ground.kill_daemon()
    before = git.calls()
    assert command.stderr is not None
    said = command.stderr.readline()
    assert said.startswith("wl: the daemon waits for git of an earlier daemon")
    assert f"(pid {pid})" in said
    waits = ground.wl("daemon", "status", "--json").ok().json()["waits"]
    assert f"(pid {pid})" in waits
    assert git.calls() == before
    assert Path(f"/proc/{pid}").exists()
    git.let_go()
    _, rest = command.communicate(timeout=60)
    assert command.returncode == 0, rest
    ground.wait("a1", states="complete")
    assert ground.git("log", "--format=%s", "agent/a1") == "hello\nfirst\n"
    assert [event["kind"] for event in ground.events("a1")].count("agent.created") == 1
