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
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from windlass.hooks import daemon_call
else:
    sys.path.insert(0, __file__.rpartition("/")[0])
    import daemon_call

_CHUNK = 1 << 16
_SHORTEST, _LONGEST = 0.05, 2.0
_WAKES, _SILENT = 2, 0


def main(arguments: list[str]) -> int:
    """Waits for mail; returns the exit code."""
    api, session = arguments
    while posix.read(0, _CHUNK):
        pass
    reader = _Reader()
    arm = f"{posix.getpid()}-{time.time_ns()}"
    body = b'{"session": %d, "arm": "%b"}' % (int(session), arm.encode())
    pause = _SHORTEST
    while reader.is_there():
        began = time.monotonic()
        answer = _asked(api, body, reader)
        if answer is not None:
            return _wake(answer)
        if time.monotonic() - began > _LONGEST:
            pause = _SHORTEST
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST)
    return _SILENT


class _Reader:
    """The session that reads what we print, while it is there: our parent, with our stderr.

    A hook that was started as its session died has another parent from the first: measured.
    """

    def __init__(self) -> None:
        self._parent = posix.getppid()

    def is_there(self) -> bool:
        """Whether somebody would read what is printed."""
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
    daemon_call.say(2, text.encode("utf-8", "surrogatepass"))
    return _WAKES


def _asked(path: str, body: bytes, reader: _Reader) -> bytes | None:
    """The daemon's answer, whole; None where there is no daemon, or none any more."""
    parts: list[bytes] = []
    asking = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        daemon_call.send(asking, path, b"mail.wait", body, end=time.monotonic() + _LONGEST)
        while reader.until_readable(asking) and (chunk := asking.recv(_CHUNK)):
            parts.append(chunk)
        status, said = daemon_call.whole(b"".join(parts))
    except OSError:
        return None
    finally:
        asking.close()
    return said if status == 200 and said.startswith(b"{") else None


if __name__ == "__main__":
    code = _SILENT
    try:
        code = main(sys.argv[1:])
    finally:
        posix._exit(code)  # noqa: SLF001 no other way ends an interpreter at once
