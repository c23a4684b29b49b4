"""Which process opened a connection to a unix socket: what the system says of it.

That is whoever connected, for as long as the connection lasts: one who was handed it since counts
as the one who opened it. Told on Linux and macOS; elsewhere everybody on the person's socket is the
person.
"""

from __future__ import annotations

import errno
import os
import socket
import struct
import sys

from windlass.core.errors import Unavailable
from windlass.core.sessions import Peer

_CREDENTIALS = struct.Struct("3i")
_SO_PEERPIDFD = 77
"""Since Linux 6.5; Python has no name for it."""
_SOL_LOCAL, _LOCAL_PEERPID = 0, 2
"""On macOS, where Python has no names for them either."""


def number(connection: socket.socket) -> int | None:
    """The number of the process that opened it; None where the system does not tell."""
    if sys.platform == "linux":
        told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        pid: int = _CREDENTIALS.unpack(told)[0]
    elif sys.platform == "darwin":
        pid = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID)
    else:
        return None
    if not pid:
        raise Unavailable(
            "the daemon cannot see the process that calls: it runs in another container",
            "run `wl` where the daemon runs, or stop it and start it here: `wl daemon stop`",
        )
    return pid


def take(connection: socket.socket, pid: int) -> Peer:
    """The process of that number, with a handle on it that has to be given to `release`."""
    if sys.platform != "linux":
        return Peer(pid)
    try:
        return Peer(pid, connection.getsockopt(socket.SOL_SOCKET, _SO_PEERPIDFD))
    except OSError as error:
        if error.errno == errno.ENOPROTOOPT:  # an older kernel
            return Peer(pid)
        raise Unavailable(
            f"it cannot be found out who opened this connection: {error.strerror}", "try again"
        ) from None


def release(peer: Peer) -> None:
    """Closes the handle."""
    if peer.handle is not None:
        os.close(peer.handle)
