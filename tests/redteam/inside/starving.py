"""Lines 70 to 73: keeping the daemon so busy that it has no time or room for anybody else.

Each goes on for some seconds; whether others were answered meanwhile is seen from outside.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from http.client import HTTPException
from pathlib import Path

from tests.redteam.inside.ipc import asked, own_socket
from tests.redteam.inside.trying import Map, attack

SECONDS = 8.0
_AT_ONCE = 48
_LINES = b"\n" * 300_000 + b"{}\n" * 2000 + b"[" * (4 << 20) + b"\n"


def _all_the_while(name: str, act: Callable[[], object]) -> object:
    """Does something again and again from many threads; says when it begins, and how often."""
    end, tries = time.monotonic() + SECONDS, [0]
    Path(f".begun-{name}").touch()

    def go_on() -> None:
        while time.monotonic() < end:
            tries.append(1)
            with suppress(OSError, ValueError, HTTPException):
                act()

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        for _ in range(_AT_ONCE):
            threads.submit(go_on)
    return sum(tries)


@attack("requests")
def _(_known: Map) -> object:
    return _all_the_while("requests", lambda: asked(own_socket(), "status"))


@attack("silence")
def _(_known: Map) -> object:
    with ExitStack() as held:

        def hold() -> None:
            there = held.enter_context(socket.socket(socket.AF_UNIX))
            there.settimeout(1.0)
            there.connect(own_socket())
            there.sendall(b"POST /v1/status HTTP/1.1\r\nContent-Length: 900000\r\n\r\n{")

        return _all_the_while("silence", hold)


@attack("words")
def _(_known: Map) -> object:
    text = "words " * 400
    return _all_the_while("words", lambda: asked(own_socket(), "send", agent="bea", text=text))


@attack("evidence")
def _(_known: Map) -> object:
    folder = Path(os.environ["CLAUDE_CONFIG_DIR"]).parent
    Path(".begun-evidence").touch()
    written = 0
    for place in (*folder.glob("sessions/*/events.jsonl"), *folder.glob("config/**/*.jsonl")):
        with suppress(OSError), place.open("ab") as file:
            file.write(_LINES)
            written += 1
    return written
