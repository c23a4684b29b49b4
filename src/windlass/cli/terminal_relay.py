"""A program between which and the person's terminal stands a filter.

What goes to a terminal passes `core.terminal_filter`, so that nothing that the program prints does
anything there but draw; what goes elsewhere is left as it is. Where it prints to a terminal it has
one of its own, on which it draws, asks and is interrupted as on the person's; only Ctrl-Z does
nothing, as nobody would bring it back. Where it prints elsewhere the person's own program keeps
the person's terminal, and one in a box has none: what is typed reaches it through a pipe.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import struct
import termios
import tty
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from windlass.cli import file_pipes
from windlass.cli.file_pipes import FilePipes
from windlass.core.errors import UserError
from windlass.core.terminal_filter import TerminalFilter

_CHUNK = 1 << 16
_TYPED = (signal.SIGINT, signal.SIGQUIT)
_PASSED_ON = (*_TYPED, signal.SIGTERM, signal.SIGHUP)


Show = Callable[[bytes], bytes]
"""Makes of what a program prints what a terminal is told."""


class _Program(NamedTuple):
    """A running program, where we hear what it prints, and where it hears what is typed."""

    pid: int
    said: int
    hears: int


def is_needed() -> bool:
    """Whether anything that a program prints would reach a terminal."""
    return os.isatty(1) or os.isatty(2)


def run(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Runs a program of the person's to its end; returns its exit code as a shell would say it."""
    show = TerminalFilter().feed
    if os.isatty(1):
        return _on_own_terminal(argv, env, show)
    return _with_errors_filtered(argv, env, show)


def run_boxed(argv: Sequence[str], env: Mapping[str, str], *, raw: bool) -> int:
    """Runs a box to its end; nothing in it ever has the person's terminal, or a file of theirs."""
    show = bytes if raw else TerminalFilter().feed
    with file_pipes.instead_of_files() as pipes:
        if os.isatty(1):
            return _on_own_terminal(argv, env, show, pipes)
        return _without_terminal(argv, env, show, pipes)


def _on_own_terminal(
    argv: Sequence[str], env: Mapping[str, str], show: Show, pipes: FilePipes | None = None
) -> int:
    ours, its = os.openpty()
    _resize(ours)
    kept = {number: os.dup(number) for number in (0, 2) if not os.isatty(number)}

    def attach() -> None:
        os.login_tty(its)
        for number, stream in kept.items():
            os.dup2(stream, number)
        if pipes is not None:
            pipes.attach()

    pid = _start(argv, env, attach)
    if pipes is not None:
        pipes.begin()
    for number in (its, *kept.values()):
        os.close(number)
    program = _Program(pid, ours, ours)
    with _signals(lambda number: _pass_on(program, number)) as woken, _typed() as keys:
        _relay(program, 1, show, woken=woken, keys=keys)
    return _ended(program)


def _with_errors_filtered(argv: Sequence[str], env: Mapping[str, str], show: Show) -> int:
    """Runs a program that prints elsewhere, and complains on a terminal: that one it keeps."""
    said, saying = os.pipe()

    def attach() -> None:
        os.dup2(saying, 2)

    program = _Program(_start(argv, env, attach), said, said)
    os.close(saying)

    def pass_on(number: int) -> None:
        if number not in _TYPED:  # those reach it without us: it is in our group
            os.kill(program.pid, number)

    with _signals(pass_on) as woken:
        _relay(program, 2, show, woken=woken, keys=[])
    return _ended(program)


def _without_terminal(
    argv: Sequence[str], env: Mapping[str, str], show: Show, pipes: FilePipes
) -> int:
    """Runs a program that prints elsewhere, in a session of its own, which has no terminal."""
    said, saying = os.pipe()
    hearing, hears = os.pipe()

    def attach() -> None:
        os.setsid()
        if os.isatty(0):
            os.dup2(hearing, 0)
        if os.isatty(2):
            os.dup2(saying, 2)
        pipes.attach()

    program = _Program(_start(argv, env, attach), said, hears)
    pipes.begin()
    for number in (saying, hearing):
        os.close(number)
    with _signals(lambda number: os.kill(program.pid, number)) as woken:
        keys = [0] if _is_in_front(0) else []
        if not keys:
            os.close(hears)
        _relay(program, 2, show, woken=woken, keys=keys)
        if keys:
            os.close(hears)
    return _ended(program)


def _start(argv: Sequence[str], env: Mapping[str, str], attach: Callable[[], None]) -> int:
    heard, told = os.pipe()  # closed by a program that begins; else it says why it does not
    pid = os.fork()
    if pid == 0:
        try:
            attach()
            os.execvpe(argv[0], list(argv), dict(env))  # noqa: S606 - what was asked for
        except OSError as error:
            os.write(told, struct.pack("i", error.errno or 0))
        os._exit(127)
    os.close(told)
    problem = os.read(heard, 4)
    os.close(heard)
    if problem:
        os.waitpid(pid, 0)
        why = os.strerror(struct.unpack("i", problem)[0])
        raise UserError(f"cannot run {argv[0]}: {why}", "is it on PATH?")
    return pid


def _ended(program: _Program) -> int:
    status = os.waitpid(program.pid, 0)[1]
    os.close(program.said)
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _pass_on(program: _Program, number: int) -> None:
    with contextlib.suppress(OSError):
        os.killpg(os.tcgetpgrp(program.said), number)


@contextlib.contextmanager
def _signals(pass_on: Callable[[int], None]) -> Iterator[int]:
    """Lets the program end by signals, not us; gives what can be read when there was one."""
    heard, told = os.pipe()
    for number in (heard, told):
        os.set_blocking(number, False)
    numbers = (*_PASSED_ON, signal.SIGCHLD, signal.SIGWINCH)

    def take(number: int, _frame: object) -> None:
        if number in _PASSED_ON:
            pass_on(number)

    before = {number: signal.signal(number, take) for number in numbers}
    woken_before = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    try:
        yield heard
    finally:
        signal.set_wakeup_fd(woken_before)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(heard)
        os.close(told)


@contextlib.contextmanager
def _typed() -> Iterator[list[int]]:
    """Gives what is typed on; nothing in the background, where taking keys would stop us."""
    number = 0 if os.isatty(0) else 1
    if not _is_in_front(number):
        yield []
        return
    before = termios.tcgetattr(number)
    tty.setraw(number, termios.TCSADRAIN)
    try:
        yield [number]
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)


def _is_in_front(number: int) -> bool:
    """Whether that is our terminal, and what is typed on it is for us."""
    try:
        return os.tcgetpgrp(number) == os.getpgrp()
    except OSError:
        return False


def _resize(end: int) -> None:
    """Makes a terminal as large as the person's."""
    with contextlib.suppress(OSError):
        size = fcntl.ioctl(1, termios.TIOCGWINSZ, bytes(8))
        fcntl.ioctl(end, termios.TIOCSWINSZ, size)


def _relay(program: _Program, shown_on: int, show: Show, *, woken: int, keys: list[int]) -> None:
    """Carries keys there and output back, until the program has ended and all of it is shown.

    What is left of `keys` is still typed on when it returns.
    """
    said, ended = [program.said], _has_ended(program)
    while True:
        heard, _, _ = select.select([*said, woken, *keys], [], [], 0 if ended else None)
        if woken in heard:
            os.read(woken, _CHUNK)
            _resize(program.said)
            ended = _has_ended(program)
            continue  # what it said before it ended is not heard yet
        for number in [key for key in keys if key in heard]:
            if not _hand_over(_read(number), program):
                keys.remove(number)
        if program.said in heard:
            words = _read(program.said)
            _write(shown_on, show(words))
            if not words and program.hears == program.said:
                return  # it has left its terminal
            if not words:
                said.clear()
        elif ended:
            return


def _hand_over(typed: bytes, program: _Program) -> bool:
    """Has the program read what was typed; says whether there may be more to come."""
    try:
        _write(program.hears, typed)
    except OSError:  # it reads no more
        typed = b""
    if not typed and program.hears != program.said:
        os.close(program.hears)
    return bool(typed)


def _has_ended(program: _Program) -> bool:
    return os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _read(number: int) -> bytes:
    try:
        return os.read(number, _CHUNK)
    except OSError:  # how Linux says that nobody has the other end any more
        return b""


def _write(number: int, data: bytes) -> None:
    while data:
        data = data[os.write(number, data) :]
