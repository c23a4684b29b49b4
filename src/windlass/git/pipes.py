"""Talks to a program through pipes, for a limited time and about so much and no more.

What a git in a box answers is as long as an agent makes it.
"""

from __future__ import annotations

import os
import select
import selectors
import subprocess
import sys
import time
from typing import IO, NamedTuple

_CHUNK = 1 << 16


class TooMuch(Exception):
    """The answer is longer than it may be."""


class Answer(NamedTuple):
    """What a program wrote to its output and to its error output."""

    out: bytes
    err: bytes


def converse(
    process: subprocess.Popen[bytes], stdin: bytes, *, timeout: float, most: int
) -> Answer:
    """Feeds a program and reads its answer to the end.

    Raises `TooMuch` as soon as there is more, and `subprocess.TimeoutExpired` when it takes longer;
    the program is left running then.
    """
    answers: dict[int, list[bytes]] = {
        pipe.fileno(): [] for pipe in (process.stdout, process.stderr) if pipe is not None
    }
    end, size, rest = time.monotonic() + timeout, 0, memoryview(stdin)
    with selectors.DefaultSelector() as ready:
        for pipe in answers:
            ready.register(pipe, selectors.EVENT_READ)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            ready.register(process.stdin, selectors.EVENT_WRITE)
        while ready.get_map():
            left = end - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(process.args, timeout)
            for key, _ in ready.select(left):
                if key.fileobj is process.stdin:
                    rest = _feed(process.stdin, rest)
                    if not rest:
                        ready.unregister(process.stdin)
                        process.stdin.close()
                    continue
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    ready.unregister(key.fileobj)
                    continue
                size += len(chunk)
                if size > most:
                    raise TooMuch
                answers[key.fd].append(chunk)
    _await_end(process, end=end)
    process.wait(max(0.0, end - time.monotonic()))
    return Answer(*(_joined(answers, pipe) for pipe in (process.stdout, process.stderr)))


def _await_end(process: subprocess.Popen[bytes], *, end: float) -> None:
    """Waits for a program that has said all; where it can, without looking again and again.

    `Popen.wait` sleeps between its looks, a millisecond or more for each git that is started.
    """
    if sys.platform != "linux" or process.poll() is not None:
        return
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:  # an old kernel, or none left to open
        return
    try:
        ended = select.poll()
        ended.register(descriptor, select.POLLIN)
        ended.poll(max(0.0, end - time.monotonic()) * 1000)
    finally:
        os.close(descriptor)


def _joined(answers: dict[int, list[bytes]], pipe: IO[bytes] | None) -> bytes:
    return b"".join(answers[pipe.fileno()]) if pipe is not None else b""


def _feed(pipe: IO[bytes], rest: memoryview) -> memoryview:
    """Writes what the program takes now; nothing is left for one that has closed its ears."""
    try:
        return rest[os.write(pipe.fileno(), rest[:_CHUNK]) :] if rest else rest
    except BlockingIOError:
        return rest
    except BrokenPipeError:
        return rest[:0]
