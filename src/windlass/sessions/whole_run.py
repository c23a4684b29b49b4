"""A command that is run to its end, and nothing of it beyond: output capped, every process ended.

For what is judged by how it ended. A command that a project starts and that may leave something
running is `processes.run`'s.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from windlass.core.sessions import WholeRun
from windlass.sessions import processes
from windlass.sessions.capped_output import CappedOutput

_PART = 1 << 16
_WITHOUT_PIDFD = 0.1
"""Seconds between two looks whether a command has ended, where the system does not tell."""
_BETWEEN_LOOKS = 1.0
_DRAINED = 5.0
"""Seconds for what is left in the pipe once nobody of the command lives."""


def run_whole(
    command: str,
    *,
    cwd: Path,
    env: Mapping[str, str],
    log: Path,
    timeout: float,
    mark: str,
    prefix: Sequence[str] = (),
    most: int,
    look: Callable[[int], str] = lambda _: "",
) -> WholeRun:
    """Runs a shell command line behind `prefix`; of its output at most so many bytes are kept.

    When it has ended, or its time is over, everything that carries its mark is ended too. `look` is
    asked now and then what stands against the process going on, until it says something.
    """
    began = time.monotonic()
    reading, writing = os.pipe()
    try:
        with contextlib.closing(_Descriptor(writing)):
            shell = subprocess.Popen(
                [*prefix, "/bin/sh", "-c", command],
                cwd=cwd,
                env={**env, **processes.marked(mark)},
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except OSError as error:
        os.close(reading)
        log.write_text(f"windlass: {error}\n")
        return WholeRun(code=127, timed_out=False, seconds=0.0, left_out=0, survivors=0)
    os.set_blocking(reading, False)
    with contextlib.closing(_Descriptor(reading)), log.open("ab") as file:
        output = CappedOutput(file, most=most)
        looks = _Looks(partial(look, shell.pid))
        has_ended = _listen(shell, reading, output, looks, until=began + timeout)
        timed_out = not has_ended and not looks.said
        seconds = time.monotonic() - began
        report = processes.end_run(mark)
        if not has_ended:
            shell.kill()
        code = shell.wait()
        _drain(reading, output)
        output.close()
    return WholeRun(
        code=128 - code if code < 0 else code,
        timed_out=timed_out,
        seconds=seconds,
        left_out=output.left_out,
        survivors=len(report.survivors),
        overgrown=looks.said,
    )


class _Looks:
    """Asks a question now and then, until it has an answer; the longer it takes the less often."""

    def __init__(self, look: Callable[[], str]) -> None:
        self._look = look
        self._due = time.monotonic() + _BETWEEN_LOOKS
        self.said = ""

    @property
    def left(self) -> float:
        """Seconds until it is asked again."""
        return max(0.0, self._due - time.monotonic())

    def take(self) -> bool:
        """Asks, if it is time; says whether there is an answer."""
        if not self.left:
            began = time.monotonic()
            self.said = self._look()
            now = time.monotonic()
            self._due = now + max(_BETWEEN_LOOKS, 4 * (now - began))
        return bool(self.said)


class _Descriptor:
    """A number of an open file, to be closed."""

    def __init__(self, number: int) -> None:
        self._number = number

    def close(self) -> None:
        """Closes it."""
        os.close(self._number)


def _listen(
    shell: subprocess.Popen[bytes],
    reading: int,
    output: CappedOutput,
    looks: _Looks,
    *,
    until: float,
) -> bool:
    """Takes what a command says until it has ended; False where it may not go on before."""
    with selectors.DefaultSelector() as selector, contextlib.ExitStack() as stack:
        selector.register(reading, selectors.EVENT_READ)
        handle = _handle(shell.pid)
        if handle is not None:
            stack.callback(os.close, handle)
            selector.register(handle, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0 and not looks.take():
            left = min(left, looks.left + _WITHOUT_PIDFD)
            patience = left if handle is not None else min(left, _WITHOUT_PIDFD)
            ready = {key.fd for key, _ in selector.select(patience)}
            if reading in ready and not _take(reading, output):
                selector.unregister(reading)
            if reading not in ready and shell.poll() is not None:
                return True
    return False


def _handle(pid: int) -> int | None:
    """A descriptor that becomes readable when a process ends; None where there is no such."""
    if not hasattr(os, "pidfd_open"):
        return None
    return os.pidfd_open(pid)


def _take(reading: int, output: CappedOutput) -> bool:
    """Reads once; False at the end, which comes when nobody can write any more."""
    try:
        part = os.read(reading, _PART)
    except BlockingIOError:
        return True
    output.feed(part)
    return bool(part)


def _drain(reading: int, output: CappedOutput) -> None:
    """Takes what is left, for a while: somebody without the mark may hold the pipe."""
    until = time.monotonic() + _DRAINED
    with selectors.DefaultSelector() as selector:
        selector.register(reading, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0:
            if not selector.select(min(left, 0.05)) or not _take(reading, output):
                return
