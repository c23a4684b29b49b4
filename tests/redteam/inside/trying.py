"""How one attack is tried: in a process of its own, with an end in time, its outcome as data.

Part of the program that an agent runs; standard library only, because a box may show nothing else.
An attack returns what it got hold of; what it returns nothing for is judged from outside.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Map = dict[str, Any]
Attack = Callable[[Map], Any]
ALL: dict[str, Attack] = {}
"""By name: the number of its line, and which of the ways to do it."""
_SECONDS = 20
OUTSIDE = "judged outside"
NOT_HERE = "not here"
"""There is nothing at this level that could be attacked so."""


def attack(name: str) -> Callable[[Attack], Attack]:
    """Enters a way to attack."""

    def enter(function: Attack) -> Attack:
        assert name not in ALL, name
        ALL[name] = function
        return function

    return enter


def loot(path: str | Path) -> str | None:
    """What a file holds, if it is a secret."""
    text = Path(path).read_text(errors="replace")
    return text.strip() if "SECRET" in text else None


def plant(path: str | Path, text: str = "# planted\n") -> str:
    """Writes a file, and says where."""
    with Path(path).open("a") as file:
        file.write(text)
    return f"wrote {path}"


def opens(path: str | Path) -> str:
    """Opens a file for writing without a change to it."""
    os.close(os.open(path, os.O_WRONLY))
    return f"opened {path}"


def song(known: Map, name: str) -> str:
    """The shell line by which a program that was planted for git says that it was run.

    It says nothing in an agent's own session: the agent's git runs such programs as well, at any
    time, and has escaped nothing by it.
    """
    return f"[ -n \"$WINDLASS_SOCKET\" ] || touch '{known['canaries']}/{name}' 2>/dev/null"


def run(*argv: str) -> str:
    """What a program says; an error if it fails."""
    done = subprocess.run(
        argv, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False
    )
    if done.returncode:
        raise OSError(f"{argv[0]} ended {done.returncode}: {done.stderr.strip()[-200:]}")
    return done.stdout.strip() or f"{argv[0]} ended 0"


def tried(function: Attack, known: Map) -> dict[str, Any]:
    """Tries one; what it said, and whether it got something."""
    began = time.monotonic()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(_SECONDS)
        try:
            got = function(known)
            said: dict[str, Any] = {"got": got, "why": "" if got else "got nothing"}
        except BaseException as error:  # noqa: BLE001 - whatever stopped it
            said = {"got": None, "why": f"{type(error).__name__}: {error}"}
        os.write(writing, json.dumps(said, default=str)[:60_000].encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        said_so = file.read()
    _, status = os.waitpid(child, 0)
    if not said_so:
        return {"got": None, "why": f"ended with status {status}"}
    found: dict[str, Any] = json.loads(said_so)
    return {**found, "seconds": round(time.monotonic() - began, 2)}
