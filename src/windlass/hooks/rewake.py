"""The waiting hook: `python -I -S rewake.py API_SOCKET SESSION_NUMBER`, the event on stdin.

Asks the daemon for mail and waits as long as that takes. What comes is printed to stderr, and exit
code 2 wakes the session with it; 0 changes nothing. Holds nothing: what it is given the daemon has
written down as offered, and looks for in the conversation. A daemon that goes away is asked again
under the same name, by which it knows that what it offered did not arrive. Ends with its session:
when the daemon says so, or when nobody is left to read what it would print. Imports almost nothing,
as one waits for every idle agent.
"""

import _socket
import posix
import select
import time

_CHUNK = 1 << 16
_SHORTEST, _LONGEST = 0.05, 2.0
_WAKES, _SILENT = 2, 0


def main(arguments: list[str]) -> int:
    """Waits for mail; returns the exit code."""
    api, session = arguments
    while posix.read(0, _CHUNK):
        pass
    watch = _Watch()
    arm = f"{posix.getpid()}-{time.time_ns()}"
    body = b'{"session": %d, "arm": "%b"}' % (int(session), arm.encode())
    pause = _SHORTEST
    while watch.somebody_is_there():
        began = time.monotonic()
        answer = _asked(api, body, watch)
        if answer is not None:
            return _wake(answer)
        if time.monotonic() - began > _LONGEST:
            pause = _SHORTEST
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST)
    return _SILENT


class _Watch:
    """Whether the session is still there: its process is our parent, and reads our stderr.

    A hook that was started as its session died has another parent from the first: measured.
    """

    def __init__(self) -> None:
        self._parent = posix.getppid()

    def somebody_is_there(self) -> bool:
        reading = select.poll()
        reading.register(2, 0)
        return posix.getppid() == self._parent and not reading.poll(0)

    def until_readable(self, connection: _socket.socket) -> bool:
        """Waits for an answer; False if nobody is left to have it."""
        both = select.poll()
        both.register(connection.fileno(), select.POLLIN)
        both.register(2, 0)
        return all(number != 2 for number, _ in both.poll())


def _wake(answer: bytes) -> int:
    import json  # noqa: PLC0415 not needed to wait

    text = json.loads(answer).get("text")
    if not text:
        return _SILENT
    left = text.encode("utf-8", "surrogatepass")
    while left:
        left = left[posix.write(2, left) :]
    return _WAKES


def _asked(path: str, body: bytes, watch: _Watch) -> bytes | None:
    """The daemon's answer, whole; None where there is no daemon, or none any more."""
    parts: list[bytes] = []
    asking = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        asking.connect(path)
        # In HTTP/1.0 an answer ends with its connection and never comes in chunks.
        asking.sendall(
            b"POST /v1/mail.wait HTTP/1.0\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        )
        while watch.until_readable(asking) and (chunk := asking.recv(_CHUNK)):
            parts.append(chunk)
    except OSError:
        return None
    finally:
        asking.close()
    head, _, said = b"".join(parts).partition(b"\r\n\r\n")
    first, *others = head.split(b"\r\n")
    length = [o.partition(b":")[2].strip() for o in others if o[:15].lower() == b"content-length:"]
    whole = first.split(b" ")[1:2] == [b"200"] and length == [b"%d" % len(said)]
    return said if whole and said.startswith(b"{") else None


if __name__ == "__main__":
    import sys

    code = _SILENT
    try:
        code = main(sys.argv[1:])
    finally:
        posix._exit(code)  # noqa: SLF001 no other way ends an interpreter at once
