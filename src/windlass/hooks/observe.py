"""The observing hook: `python -I -S observe.py EVENTS_FILE WAKE_SOCKET`, the event on stdin.

Appends one line `{"at": <unix time>, "event": <what came in>}` and pokes the daemon. It does not
judge: what is no JSON stays in its line, for the reader to see. It never fails nor delays the
agent: whatever happens, it exits 0. Only built-in modules, as it runs at every tool call.
"""

import _socket
import posix
import sys
import time

LARGEST = 8 << 20
_CHUNK = 1 << 16


def _read_all() -> tuple[bytes, int]:
    """Reads stdin to its end, so that no writer breaks; returns what is kept and the size."""
    parts = []
    size = 0
    while chunk := posix.read(0, _CHUNK):
        size += len(chunk)
        if size <= LARGEST:
            parts.append(chunk)
    return b"".join(parts), size


def _line(body: bytes, size: int) -> bytes:
    head = b'{"at": %.6f, ' % time.time()
    if size > LARGEST:
        return head + b'"cut": %d}\n' % size
    # JSON strings hold no raw line ends, so these stand between tokens, where a space will do.
    body = body.replace(b"\r", b" ").replace(b"\n", b" ").strip()
    return head + b'"event": ' + (body or b"null") + b"}\n"


def _append(path: str, line: bytes) -> None:
    """Appends in one write, which the kernel never mixes with that of another hook."""
    how = posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND | posix.O_CLOEXEC
    events = posix.open(path, how, 0o600)
    if posix.write(events, line) < len(line):
        posix.write(events, b"\n")  # the disk is full: at least the next line stays whole


def _poke(path: str) -> None:
    poker = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
    poker.setblocking(False)  # noqa: FBT003 its only parameter
    poker.sendto(b"hook", path)


def main(arguments: list[str]) -> None:
    """Records the event, then pokes."""
    body, size = _read_all()
    _append(arguments[0], _line(body, size))
    _poke(arguments[1])


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    finally:
        # Whatever happened, the agent must not feel it; and nothing needs cleaning up.
        posix._exit(0)  # noqa: SLF001 no other way ends an interpreter at once
