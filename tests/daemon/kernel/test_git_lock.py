"""A daemon goes on with nothing while git of an earlier one is at work, and ends what hangs."""

from __future__ import annotations

import errno
import fcntl
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.daemon.kernel.test_daemon_lock import Hasty
from tests.support.contexts import REPO

from windlass.core.errors import Unavailable
from windlass.daemon.kernel import git_lock, operations
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.git_lock import GitLock
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step
from windlass.git import environment, inheritance, runner
from windlass.git.environment import Dirs
from windlass.sessions import commands
from windlass.store import rows

DAEMON = """
import sys, pathlib
from windlass.daemon.kernel.clock import SystemClock
from windlass.daemon.kernel.git_lock import GitLock
from windlass.git import runner
from windlass.sessions import commands
lock = GitLock(pathlib.Path(sys.argv[1]), commands, SystemClock())
assert lock.take(print) == []
runner.run(["anything"])
"""
ITSELF = "exec sh {waiter}"
A_CHILD = "sh {waiter} & exit 0"
"""What git started itself, and went away."""
DEAF = "trap '' TERM; sh {waiter}"


class Slow(Hasty):
    """A clock that does something at a certain rest, of a tenth of a second each."""

    def __init__(self, rest: int, action: Callable[[], None]) -> None:
        super().__init__()
        self._left, self._action = rest, action

    def sleep(self, seconds: float) -> None:
        """Rests."""
        del seconds
        self._rested += 0.1
        self._left -= 1
        if self._left == 0:
            self._action()


class Left:
    """A git that an earlier daemon has left at work; it ends when it is let go."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
        self.lock = folder / "git.lock"
        self._go, begun = folder / "go", folder / "begun"
        os.mkfifo(self._go)
        os.mkfifo(begun)
        waiter = folder / "waiter"
        waiter.write_text(f"echo $$ > {begun}; read line < {self._go}\n")
        program = folder / "bin" / "git"
        program.parent.mkdir()
        program.write_text(f"#!/bin/sh\n{script.format(waiter=waiter)}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        daemon = subprocess.Popen([sys.executable, "-c", DAEMON, str(self.lock)])
        self.pid = int(begun.read_text())
        self._end = os.pidfd_open(self.pid)
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()

    def lives(self) -> bool:
        """Whether it has not ended."""
        return not select.select([self._end], [], [], 0)[0]

    def let_go(self) -> None:
        """Has it end by itself, and waits for that."""
        with self._go.open("w") as go:
            go.write("on\n")
        select.select([self._end], [], [], 30)

    def close(self) -> None:
        """Ends it, whatever became of it."""
        signal.pidfd_send_signal(self._end, signal.SIGKILL) if self.lives() else None
        os.close(self._end)


Leave = Callable[[str], Left]


@pytest.fixture
def leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Leave]:
    """Makes a git of an earlier daemon."""
    monkeypatch.setattr(inheritance, "_given", inheritance.Inheritance())
    made: list[Left] = []

    def make(script: str) -> Left:
        made.append(Left(tmp_path, monkeypatch, script))
        return made[-1]

    yield make
    for left in made:
        left.close()


@pytest.mark.parametrize("script", [ITSELF, A_CHILD])
def test_git_of_an_earlier_daemon_is_waited_for_and_named(leave: Leave, script: str) -> None:
    left = leave(script)
    said: list[str] = []
    lived: list[bool] = []

    def let_go() -> None:
        lived.append(left.lives())
        left.let_go()

    assert GitLock(left.lock, commands, Slow(100, let_go)).take(said.append) == []
    assert lived == [True]
    assert not left.lives()
    (what,) = said
    assert f"(pid {left.pid})" in what


def test_git_is_waited_for_also_where_nobody_can_be_told_of_it(leave: Leave) -> None:
    """On a full disk the note that says what is waited for cannot be written."""
    left = leave(ITSELF)

    def say(_: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    assert GitLock(left.lock, commands, Slow(100, left.let_go)).take(say) == []
    assert not left.lives()
    assert inheritance.of_child(boxed=False).files


@pytest.mark.parametrize("script", [ITSELF, A_CHILD, DEAF])
def test_git_that_does_not_end_is_ended_and_told(leave: Leave, script: str) -> None:
    left = leave(script)
    ended = GitLock(left.lock, commands, Hasty()).take(lambda _: None)
    assert not left.lives()
    assert any(f"(pid {left.pid})" in program for program in ended)


def test_what_was_ended_is_told_where_something_goes_on_without_it(context: Context) -> None:
    git_lock.record(context.store, [])
    git_lock.record(context.store, ["git fetch (pid 7)"])
    begun = IntentDraft(REPO, None, lambda _: {})
    build = Operation("build", (Step("walls", lambda _: None),), lambda _: [], lambda _: {})
    context.store.write(lambda w: operations.set_out(w, build, "k", begun))
    git_lock.record(context.store, ["git gc (pid 8)"])
    told = context.store.read(lambda c: rows.events(c, kind="git.ended"))
    assert [(event.repo, event.data["programs"]) for event in told] == [
        (None, ["git fetch (pid 7)"]),
        (REPO, ["git gc (pid 8)"]),
    ]


def test_who_holds_the_lock_without_being_git_of_ours_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "git.lock"
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(Unavailable, match=r"still holds .*git\.lock") as refused:
            GitLock(path, commands, Hasty()).take(lambda _: None)
    assert "fuser" in refused.value.hint


def test_every_git_has_lock_and_mark_but_one_in_a_box(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That dies with the daemon, and an agent that got hold of the lock could keep it for ever."""
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nenv; ls -l /proc/self/fd\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(inheritance, "_given", inheritance.Inheritance())
    GitLock(tmp_path / "git.lock", commands, Hasty()).take(lambda _: None)
    plain = runner.run(["anything"], dirs=Dirs(git_dir=str(tmp_path))).out.decode()
    boxed = Dirs(git_dir=str(tmp_path), box=("/usr/bin/env",))
    inside = runner.run(["anything"], dirs=boxed).out.decode()
    limited = environment.limited(Dirs(git_dir=str(tmp_path)))
    outside = runner.run(["anything"], dirs=limited).out.decode()
    assert plain.count("git.lock") == outside.count("git.lock") == 2
    assert "git.lock" not in inside
