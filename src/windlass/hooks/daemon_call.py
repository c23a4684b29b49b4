"""Asking the daemon from a hook: HTTP/1.0, in which an answer ends with its connection.

Only built-in modules: most of what a hook costs is its start.
"""

import _socket
import posix
import time

_CHUNK = 1 << 16


def post(path: str, verb: bytes, body: bytes, *, end: float) -> tuple[int, bytes]:
    """Asks the daemon; returns status and body of its whole answer, or raises OSError."""
    asking = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        send(asking, path, verb, body, end=end)
        parts: list[bytes] = []
        while chunk := receive(asking, end=end):
            parts.append(chunk)
    finally:
        asking.close()
    return whole(b"".join(parts))


def send(asking: _socket.socket, path: str, verb: bytes, body: bytes, *, end: float) -> None:
    """Connects to the daemon and sends it a request."""
    asking.settimeout(max(end - time.monotonic(), 0.001))
    asking.connect(path)
    asking.settimeout(max(end - time.monotonic(), 0.001))
    head = b"POST /v1/%b HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % (verb, len(body))
    asking.sendall(head + body)


def receive(asking: _socket.socket, *, end: float) -> bytes:
    """The next piece of an answer; nothing is its end."""
    left = end - time.monotonic()
    if left <= 0:
        raise TimeoutError
    asking.settimeout(left)
    return asking.recv(_CHUNK)


def whole(answer: bytes) -> tuple[int, bytes]:
    """Status and body of an answer; one that is cut off means that the daemon died within it."""
    head, _, body = answer.partition(b"\r\n\r\n")
    first, *others = head.split(b"\r\n")
    status = first.split(b" ")[1:2]
    said = [o.partition(b":")[2].strip() for o in others if o[:15].lower() == b"content-length:"]
    if not status or not status[0].isdigit() or said != [b"%d" % len(body)]:
        raise ConnectionResetError
    return int(status[0]), body


def say(descriptor: int, text: bytes) -> None:
    """Writes all of it."""
    while text:
        text = text[posix.write(descriptor, text) :]
