"""A program that `wl exec` runs on a terminal: it draws there, and does nothing else."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_PATIENCE = 60.0
_RUN = (
    "import os, sys; from windlass.cli import terminal_relay as relay;"
    "sys.exit(relay.run(sys.argv[1:], dict(os.environ)))"
)
_BOXED = _RUN.replace("relay.run(", "relay.run_boxed(").replace(")))", "), raw=False))")
_EVIL = r"printf 'a\033]52;c;aGk=\007\033[?1049h\033[31mred\033[8m\033[0m'"


class Person:
    """A terminal with somebody before it, and a program that is run on it."""

    def __init__(self, *argv: str, run: str = _RUN, **streams: int) -> None:
        self.end, its = pty.openpty()
        termios.tcsetwinsize(self.end, (33, 101))
        self.modes = termios.tcgetattr(self.end)
        given = {"stdin": its, "stdout": its, "stderr": its, **streams}
        line = [sys.executable, "-c", run, *argv]

        def attach() -> None:
            os.setsid()
            fcntl.ioctl(its, termios.TIOCSCTTY, 0)

        self.program = subprocess.Popen(line, preexec_fn=attach, **given)  # type: ignore[call-overload] # noqa: PLW1509
        os.close(its)

    def read(self, until: bytes | None = None) -> bytes:
        """What the terminal is told, up to some words or to the end."""
        heard = b""
        while until is None or until not in heard:
            ready, _, _ = select.select([self.end], [], [], _PATIENCE)
            assert ready, f"nothing came but {heard!r}"
            try:
                more = os.read(self.end, 65536)
            except OSError:
                more = b""
            if not more:
                break
            heard += more
        return heard

    def type(self, keys: bytes) -> None:
        """Presses keys."""
        os.write(self.end, keys)

    def ended(self) -> int:
        """Waits for the exit code."""
        self.program.wait(30)
        os.close(self.end)
        return int(self.program.returncode)


@pytest.fixture
def piped() -> Iterator[tuple[int, int]]:
    """A pipe: where to read and where to write."""
    read, write = os.pipe()
    yield read, write
    os.close(read)


def test_what_it_prints_draws_and_does_nothing_else() -> None:
    person = Person("sh", "-c", _EVIL)
    assert person.read() == b"a\x1b[31mred\x1b[0m"
    assert person.ended() == 0


def test_it_has_a_terminal_as_large_as_the_persons_and_hears_what_is_typed() -> None:
    person = Person("sh", "-c", "stty size; test -t 0 && test -t 2 && read word && echo got $word")
    person.read(until=b"33 101")
    person.type(b"fox\r")
    assert b"got fox" in person.read()
    assert person.ended() == 0


@pytest.mark.parametrize(("line", "code"), [("exit 9", 9), ("kill -TERM $$", 143)])
def test_it_ends_as_the_program_ends(line: str, code: int) -> None:
    person = Person("sh", "-c", line)
    person.read()
    assert person.ended() == code


def test_ctrl_c_interrupts_the_program() -> None:
    person = Person("sh", "-c", "trap 'echo stopped; exit 3' INT; echo ready; sleep 1000 & wait")
    person.read(until=b"ready")
    person.type(b"\x03")
    assert b"stopped" in person.read()
    assert person.ended() == 3


def test_the_persons_terminal_is_as_it_was_afterwards() -> None:
    person = Person("sh", "-c", "stty raw -echo; echo done")
    person.read(until=b"done")
    person.program.wait(30)
    assert termios.tcgetattr(person.end) == person.modes
    assert person.ended() == 0


def test_what_stays_behind_with_the_terminal_is_not_waited_for() -> None:
    person = Person("sh", "-c", "trap '' HUP; sleep 1000 & echo $!")
    left = int(person.read(until=b"\n"))
    try:
        assert person.ended() == 0
    finally:
        os.kill(left, signal.SIGKILL)


def test_errors_are_filtered_where_only_they_go_to_a_terminal(piped: tuple[int, int]) -> None:
    read, write = piped
    person = Person("sh", "-c", f"{_EVIL}; {_EVIL} >&2; exit 4", stdout=write)
    os.close(write)
    assert person.read() == b"a\x1b[31mred\x1b[0m"
    assert person.ended() == 4
    assert os.read(read, 1000) == b"a\x1b]52;c;aGk=\x07\x1b[?1049h\x1b[31mred\x1b[8m\x1b[0m"


def test_in_a_box_there_is_no_terminal_where_output_goes_elsewhere(piped: tuple[int, int]) -> None:
    read, write = piped
    line = f"test -t 0 || test -t 2 || (: < /dev/tty) 2>&- || cat; {_EVIL} >&2; exit 5"
    person = Person("sh", "-c", line, run=_BOXED, stdout=write)
    os.close(write)
    person.type(b"one\rtwo\r\x04")
    assert os.read(read, 1000) + os.read(read, 1000) == b"one\ntwo\n"
    assert person.read().endswith(b"a\x1b[31mred\x1b[0m")
    assert person.ended() == 5


def test_ctrl_c_ends_what_has_no_terminal_and_hears_nothing(piped: tuple[int, int]) -> None:
    _, write = piped
    person = Person("sh", "-c", "echo ready >&2; exec 2>&- sleep 1000", run=_BOXED, stdout=write)
    os.close(write)
    person.read(until=b"ready")
    person.type(b"unread\r\x03")
    assert person.ended() == 130


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    person = Person(str(tmp_path / "nothing"))
    assert b"No such file or directory" in person.read()
    assert person.ended() == 1


def test_it_is_not_needed_where_nothing_goes_to_a_terminal() -> None:
    code = "import sys; from windlass.cli import terminal_relay as r; sys.exit(r.is_needed())"
    line = [sys.executable, "-c", code]
    done = subprocess.run(line, capture_output=True, check=False)
    assert done.returncode == 0
