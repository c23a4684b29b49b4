"""Recording what a hook was told: one line of its session's events file, and a poke.

A line is `{"at": <unix time>, "event": <what came in>}`. Nothing here judges: what is no JSON stays
in its line, for the reader to see. Only built-in modules, as this runs at every tool call; in a
file of its own, because a program is compiled at every start and an imported module only once.
"""

import _socket
import errno
import posix
import time

LARGEST = 8 << 20
"""What is larger is counted, not kept."""
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_CHUNK = 1 << 16


def read_all() -> tuple[bytes, int]:
    """Reads stdin to its end, so that no writer breaks; returns what is kept and the size."""
    parts = []
    size = 0
    while chunk := posix.read(0, _CHUNK):
        size += len(chunk)
        if size <= LARGEST:
            parts.append(chunk)
    return b"".join(parts), size


def record(events: str, wake: str, body: bytes, size: int) -> None:
    """Appends the line of an event, then pokes the daemon."""
    append(events, line(body, size))
    poke(wake)


def line(body: bytes, size: int) -> bytes:
    """The line of an event of which `body` was kept."""
    head = b'{"at": %.6f, ' % time.time()
    if size > LARGEST:
        return head + b'"cut": %d}\n' % size
    # JSON strings hold no raw line ends, so these stand between tokens, where a space will do.
    body = body.replace(b"\r", b" ").replace(b"\n", b" ").strip()
    return head + b'"event": ' + (body or b"null") + b"}\n"


def append(path: str, text: bytes) -> None:
    """Appends in one write, which the kernel never mixes with that of another hook.

    A line that a full disk cut off is ended first, or it would swallow this one; one that another
    hook is just writing looks the same, and is followed by an empty line then. Raises OSError where
    there is no room for all of this one either.
    """
    how = posix.O_RDWR | posix.O_CREAT | posix.O_APPEND | posix.O_CLOEXEC
    events = posix.open(path, how, 0o600)
    try:
        size = posix.fstat(events).st_size
        if size and posix.pread(events, 1, size - 1) != b"\n":
            text = b"\n" + text
        if posix.write(events, text) < len(text):
            raise OSError(errno.ENOSPC, "the disk is full")
    finally:
        posix.close(events)


def poke(path: str) -> None:
    """Tells the daemon that there is something to read, if there is a daemon."""
    poker = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
    try:
        poker.setblocking(False)  # noqa: FBT003 its only parameter
        poker.sendto(b"hook", path)
    finally:
        poker.close()
