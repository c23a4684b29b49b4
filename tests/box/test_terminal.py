from __future__ import annotations

import pytest
from tests.box.conftest import Ground, Stage, until

pytestmark = pytest.mark.slow

_TELL = """
import os, signal, sys, time
def say(text):
    with open("said", "a") as file:
        file.write(text + "\\n")
"""
_LIVES = (
    _TELL
    + """
signal.signal(signal.SIGWINCH, lambda *_: say("size %d %d" % os.get_terminal_size(0)))
def interrupted(*_):
    say("interrupted")
signal.signal(signal.SIGINT, interrupted)
signal.signal(signal.SIGCONT, lambda *_: say("continued"))
def ended(*_):
    say("told to end")
    sys.exit(7)
signal.signal(signal.SIGTERM, ended)
say("ready")
while True:
    signal.pause()
"""
)


def test_a_resize_reaches_the_program_in_the_box(stage: Stage) -> None:
    stage.python(_LIVES)
    until(lambda: "ready" in stage.said())
    stage.resize(101, 33)
    until(lambda: "size 101 33" in stage.said())


def test_ctrl_c_interrupts_the_program_and_nothing_else(stage: Stage) -> None:
    stage.python(_LIVES)
    until(lambda: "ready" in stage.said())
    stage.keys("C-c")
    until(lambda: stage.said().count("interrupted") == 1)
    stage.keys("C-c")
    until(lambda: stage.said().count("interrupted") == 2)
    assert stage.facts.alive


def test_ctrl_c_ends_a_program_that_does_not_mind_it_as_it_would_outside(stage: Stage) -> None:
    stage.start("/bin/sh", "-c", "echo ready >said; exec sleep 1000")
    until(lambda: "ready" in stage.said())
    stage.keys("C-c")
    assert stage.ended().exit_code == 128 + 2


def test_a_suspended_program_comes_back_by_itself(stage: Stage) -> None:
    stage.python(_LIVES)
    until(lambda: "ready" in stage.said())
    stage.keys("C-z")
    until(lambda: "continued" in stage.said())
    stage.keys("C-c")
    until(lambda: "interrupted" in stage.said())


def test_a_stopped_session_may_say_good_bye(stage: Stage) -> None:
    stage.python(_LIVES)
    until(lambda: "ready" in stage.said())
    report = stage.stop(grace=10.0)
    assert report.survivors == ()
    assert "told to end" in stage.said()
    assert stage.facts.exit_code == 7


def test_a_headless_session_may_say_good_bye_too(stage: Stage) -> None:
    stage.python(_LIVES, mode="headless")
    until(lambda: "ready" in stage.said())
    stage.stop(grace=10.0)
    assert "told to end" in stage.said()


def test_without_its_terminal_a_session_ends(stage: Stage) -> None:
    """Its holder alone is told that tmux is gone."""
    stage.python(_LIVES)
    until(lambda: "ready" in stage.said())
    stage.sessions.tmux.kill(stage.name)
    assert stage.ended().exit_code == 128 + 1


def test_what_a_program_leaves_in_the_background_ends_with_the_box(stage: Stage) -> None:
    stage.start(
        "/bin/sh",
        "-c",
        "setsid sh -c 'echo left >said; exec sleep 1000' & while ! [ -s said ]; do :; done",
    )
    assert stage.ended().exit_code == 0
    assert "left" in stage.said()
    assert stage.stop(grace=0.0).killed == 0


def test_words_cannot_be_put_into_the_persons_terminal(stage: Stage) -> None:
    """On this terminal they could be, unboxed, where the kernel still allows it at all."""
    stage.python(
        _TELL
        + """
import fcntl, errno
TIOCSTI, TIOCLINUX, TIOCSETD = 0x5412, 0x541C, 0x5423
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for request in (TIOCSTI, TIOCLINUX, TIOCSETD):
    for upper in (0, 1 << 32, 0xffffffff << 32):
        for name in ("/dev/tty", "/proc/self/fd/0"):
            tty = os.open(name, os.O_RDWR)
            done = libc.syscall(16 if os.uname().machine == "x86_64" else 29,
                                tty, ctypes.c_ulong(request | upper), ctypes.c_char_p(b"x"))
            say(errno.errorcode[ctypes.get_errno()] if done else "DONE")
            os.close(tty)
say("over")
"""
    )
    until(lambda: "over" in stage.said())
    assert set(stage.said().split()) == {"EPERM", "over"}


def test_a_signal_to_its_own_group_stays_in_the_box(ground: Ground) -> None:
    """The group that the box was started in is its caller's: a daemon's, if that starts it."""
    done = ground.run("/bin/sh", "-c", "kill -KILL 0")
    assert done.returncode == 128 + 9, "what made the box was killed itself"


def test_a_program_that_is_not_there_is_told_in_one_line(ground: Ground) -> None:
    done = ground.run("no-such-program", "x")
    assert done.returncode == 127
    said = "windlass: cannot start no-such-program in the box: No such file or directory"
    assert done.stderr.split("\n") == [f"{said}\r", ""] or done.stderr.splitlines() == [said]
