"""Sockets at a path, as the daemon opens them for the person and for agents."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

_PASSES_FILES = 83
"""SO_PASSRIGHTS, which Python has no name for."""


def refuse_files(door: socket.socket) -> None:
    """Has the system refuse open files that somebody sends along, where it can: Linux from 6.16 on.

    Whoever receives one closes it, and an agent can make files whose closing takes long.
    """
    with contextlib.suppress(OSError):
        door.setsockopt(socket.SOL_SOCKET, _PASSES_FILES, 0)


def bound(path: Path) -> socket.socket:
    """Binds a socket for its owner alone, in the place of a stale one of that name.

    At once in its place: no socket at all means that the person stopped the daemon.
    """
    door = socket.socket(socket.AF_UNIX)
    refuse_files(door)
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    door.bind(str(fresh))
    fresh.chmod(0o600)
    fresh.rename(path)
    return door
