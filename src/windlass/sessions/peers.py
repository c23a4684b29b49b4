"""Whose process a caller is: the marks that it and those above it carry.

Owns the climb from a process to the outermost one above it. What a mark means is its callers'.

An agent gives its processes whatever environment it likes. It puts nothing above the holder of its
session, and the holder adopts what is left behind below it: so the outermost mark is to be gone by.
No file is asked who the holder is: an agent could have written it.
"""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING

from windlass.core.errors import Denied, Unavailable
from windlass.core.sessions import Mark
from windlass.sessions import census
from windlass.sessions.processes import MARKER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from windlass.core.sessions import Peer

_HOME = "WINDLASS_HOME"
_DEEPEST = 256
"""Processes above each other. A person has a dozen; who has more shall not keep us busy."""
_CLIMBS = 20
"""Tries to see who is above whom while some of them end."""


def marks(peer: Peer) -> Iterator[Mark]:
    """Yields the marks of a process and of those above it, the outermost first.

    We ourselves and those above us are left out: who happened to start the daemon is nobody's
    superior. Below a holder that lives nothing is read that could keep us waiting.
    """
    seen = census.identify(peer.pid)
    for pid in reversed(_climb(peer.pid)):
        if (mark := _mark(census.environ(pid))) is not None:
            yield mark
    # Now, not before: as long as it lives nobody else has its number.
    if seen is None or not seen.lives() or _has_ended(peer):
        raise _gone()


def _climb(pid: int) -> list[int]:
    """The process and all that are above it."""
    for _ in range(_CLIMBS):
        if (line := _climb_once(pid)) is not None:
            return line
    raise Unavailable("the processes above the calling one end all the time", "try again")


def _climb_once(pid: int) -> list[int] | None:
    """The same; None where one of them ended meanwhile."""
    line: list[int] = []
    below: census.Descent | None = None
    while pid not in (0, os.getpid()):
        if len(line) == _DEEPEST:
            raise Denied(
                f"the calling process has more than {_DEEPEST} others above it",
                "call from somewhere else",
            )
        found = census.descent(pid)
        if below is None and (found is None or found.ended):
            raise _gone()
        if found is None:
            # It ended, or it is another user's and this system shows us none of those.
            return line if census.descent(line[-1]) == below else None
        if found.ended:
            return None
        if below is not None and found.start > below.start:
            return None  # no parent is younger than its child: the number was given out anew
        line.append(pid)
        pid, below = found.parent, found
    return line


def _mark(environ: bytes) -> Mark | None:
    marker = _value(environ, MARKER)
    return None if marker is None else Mark(marker, _value(environ, _HOME))


def _value(environ: bytes, name: str) -> str | None:
    _, found, rest = (b"\0%b" % environ).partition(b"\0%b=" % name.encode())
    return os.fsdecode(rest.partition(b"\0")[0]) if found else None


def _has_ended(peer: Peer) -> bool:
    """Whether the handle says so; without one the number and the start have to do."""
    if peer.handle is None:
        return False
    ends = select.poll()
    ends.register(peer.handle, select.POLLIN)
    return bool(ends.poll(0))


def _gone() -> Unavailable:
    return Unavailable(
        "the process that opened this connection is gone: nobody can tell whose it was",
        "try again, from a process that waits for the answer",
    )
