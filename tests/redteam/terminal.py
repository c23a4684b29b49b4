"""The person's terminal: what agents say reaches it, and should not act on it."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import time
import unicodedata
from collections.abc import Callable, Iterator

from tests.support.ground import WL, Ground

SPOKEN = (
    b"\x1b]52;c;U0VDUkVU\x07\x1b]2;taken\x07\x1bPtmux;\x1b\x1b]52;c;eA==\x07\x1b\\"
    b"\x1b7\x1b[1;1Hspoken\x1b8"
)
"""Into the clipboard, into the title, past tmux into the clipboard again; and a word to see."""
_PATIENCE = 30.0
_MOMENT = 0.25


def controls(text: str) -> list[str]:
    """The lines that would tell a terminal something, or a browser."""
    return [line for line in text.split("\n") if any(map(_is_control, line))]


def _is_control(one: str) -> bool:
    return unicodedata.category(one) == "Cc" and one != "\t"


@contextlib.contextmanager
def terminal(ground: Ground, *args: str, program: str = WL) -> Iterator[int]:
    """Runs `wl`, or another program, on a terminal of its own, whose other end is given."""
    pid, person = pty.fork()
    if pid == 0:
        os.chdir(ground.folder / "repo")
        env = {**ground.env, "TERM": "xterm-256color"}
        os.execve(program, [program, *args], env)  # noqa: S606 - no shell wanted
    try:
        yield person
    finally:
        os.close(person)
        os.waitpid(pid, 0)


def told(
    person: int, *, until: bytes | None = None, meanwhile: Callable[[], object] = lambda: None
) -> bytes:
    """What a terminal is told, up to some words or to the end."""
    heard, end = b"", time.monotonic() + _PATIENCE
    while until is None or until not in heard:
        meanwhile()
        ready, _, _ = select.select([person], [], [], _MOMENT)
        assert time.monotonic() < end, f"nothing came but {heard!r}"
        if not ready:
            continue
        try:
            more = os.read(person, 65536)
        except OSError:
            more = b""  # how Linux says that the other end is closed
        if not more:
            return heard
        heard += more
    return heard
