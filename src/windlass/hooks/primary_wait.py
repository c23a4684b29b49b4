"""Waiting for notices on behalf of an idle session, and waking it with them: exit code 2.

It holds nothing: a notice leaves the daemon's queue only once its text is written. It waits as long
as the session's process lives, through restarts of the daemon, but never starts one.
"""

import _socket
import json
import posix
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from windlass.hooks import daemon_call, event_record
else:
    import daemon_call
    import event_record

WAKE = 2
_GLANCE = 2.0
"""Seconds between looks whether the session is still there."""
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 2.0
_TRIES = 5
_HEAD = "[windlass] News of your crew:"
_ADVICE = (
    "[windlass] complete: `wl diff AGENT`, then `wl merge AGENT --force` or `wl send AGENT`; "
    "waiting: `wl look AGENT`; question: `wl questions`, then `wl answer ID`."
)


class Over(Exception):
    """There is nothing to wait for any more."""


def main(arguments: list[str]) -> int:
    """Waits; returns the exit code."""
    socket, _ = arguments
    event = json.loads(event_record.read_all()[0])
    if event.get("agent_id") is not None or not _may_wait():
        return 0
    wait = NoticeWait(socket, cwd=event["cwd"], session=event["session_id"])
    try:
        notices = wait.wait()
        wait.require_reader()
        text = "\n".join((_HEAD, *(notice["line"] for notice in notices), _ADVICE, ""))
        daemon_call.say(2, text.encode("utf-8", "backslashreplace"))
        wait.take([notice["number"] for notice in notices])
    except Over:
        return 0
    return WAKE


class NoticeWait:
    """The waiting of one session, known by its id: a later one of the same takes its place."""

    def __init__(self, socket: str, *, cwd: str, session: str) -> None:
        self._socket = socket
        self._who = {"cwd": cwd, "route": "rewake", "listener": session}
        self._parent = posix.getppid()

    def wait(self) -> "list[dict[str, Any]]":
        """Returns as soon as there are notices; asks again whatever becomes of the daemon."""
        pause = _FIRST_PAUSE
        while True:
            asked = time.monotonic()
            try:
                status, answer = self._listen()
                if status < 500:
                    return _notices(status, answer)
                if json.loads(answer).get("kind") != "unavailable":
                    raise Over  # a defect, which asking again would only repeat
            except OSError:
                pass  # no daemon, or it went away: there will be another
            if time.monotonic() - asked > _LONGEST_PAUSE:
                pause = _FIRST_PAUSE
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
            self.require_reader()

    def take(self, numbers: list[int]) -> None:
        """Says that the session has them; unsaid, they would come a second time, never be lost."""
        body = json.dumps({**self._who, "numbers": numbers}).encode()
        for _ in range(_TRIES):
            try:
                end = time.monotonic() + _LONGEST_PAUSE
                daemon_call.post(self._socket, b"taken", body, end=end)
            except OSError:
                time.sleep(_FIRST_PAUSE)
            else:
                return

    def require_reader(self) -> None:
        """Raises Over once the session's process is gone: nobody would be woken.

        It may have been gone before we began: then our parent never changes, but nobody has the
        other end of stderr.
        """
        reading = select.poll()
        reading.register(2, 0)
        if posix.getppid() != self._parent or reading.poll(0):
            raise Over

    def _listen(self) -> tuple[int, bytes]:
        asking = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            body = json.dumps(self._who).encode()
            end = time.monotonic() + _GLANCE
            daemon_call.send(asking, self._socket, b"listen", body, end=end)
            parts: list[bytes] = []
            while chunk := self._received(asking):
                parts.append(chunk)
        finally:
            asking.close()
        return daemon_call.whole(b"".join(parts))

    def _received(self, asking: _socket.socket) -> bytes:
        while True:
            try:
                return daemon_call.receive(asking, end=time.monotonic() + _GLANCE)
            except TimeoutError:
                self.require_reader()


def _may_wait() -> bool:
    """Whether somebody sits at the session. `claude -p` waits for its hooks: it would never end."""
    return posix.environ.get(b"CLAUDE_CODE_ENTRYPOINT", b"cli") == b"cli"


def _notices(status: int, answer: bytes) -> "list[dict[str, Any]]":
    """What was told; Over where we were refused, replaced or sent away."""
    reply = json.loads(answer) if status == 200 else None
    if not reply or not reply["notices"]:
        raise Over
    notices: list[dict[str, Any]] = reply["notices"]
    return notices
