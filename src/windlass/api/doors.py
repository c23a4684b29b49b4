"""Sockets at a path, as the daemon opens them for the person and for agents."""

from __future__ import annotations

import socket
from pathlib import Path


def bound(path: Path) -> socket.socket:
    """Binds a socket for its owner alone, in the place of a stale one of that name.

    At once in its place: no socket at all means that the person stopped the daemon.
    """
    door = socket.socket(socket.AF_UNIX)
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    door.bind(str(fresh))
    fresh.chmod(0o600)
    fresh.rename(path)
    return door
