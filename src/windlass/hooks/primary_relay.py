"""Passing a hook's input to the daemon and its answer back; silent where there is none.

No daemon is started. At the start of a session the instructions are printed all the same, where the
repository is one that Windlass was set up in. Only built-in modules as long as a daemon answers.
"""

import _socket
import posix
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from windlass.hooks import recording
else:
    import recording

PATIENCE = 1.0
_CHUNK = 1 << 16
_START = b'"SessionStart"'


def main(arguments: list[str]) -> int:
    """Answers one hook; returns the exit code."""
    socket, instructions = arguments
    body, size = recording.read_all()
    if size > recording.LARGEST:
        return 0
    try:
        status, answer = post(socket, b"primary", body, end=time.monotonic() + PATIENCE)
    except (FileNotFoundError, ConnectionRefusedError):
        answer = _alone(body, instructions) if _START in body else b""
        status = 200
    if status == 200 and answer != b"{}":
        _say(1, answer)
    return 0


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
    """Connects and asks. In HTTP/1.0 an answer ends with its connection, and comes in no chunks."""
    asking.settimeout(max(end - time.monotonic(), 0.001))
    asking.connect(path)
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
    said = [o.partition(b":")[2].strip() for o in others if o[:15].lower() == b"content-length:"]
    if said != [b"%d" % len(body)]:
        raise ConnectionResetError
    return int(first.split(b" ")[1]), body


def _alone(body: bytes, instructions: str) -> bytes:
    """The instructions, for the start of a session that has no daemon to ask."""
    import json  # noqa: PLC0415 most of this program's start, and seldom needed

    event = json.loads(body)
    if event.get("hook_event_name") != "SessionStart" or not _is_set_up(event["cwd"]):
        return b""
    with open(instructions, encoding="utf-8") as file:
        said = {"hookEventName": "SessionStart", "additionalContext": file.read()}
    return json.dumps({"hookSpecificOutput": said}).encode()


def _is_set_up(folder: str) -> bool:
    """Whether the repository around a folder has one of Windlass."""
    while folder.startswith("/"):
        if _is_there(f"{folder}/.git"):
            return _is_there(f"{folder}/.windlass/")
        if folder == "/":
            break
        folder = folder.rpartition("/")[0] or "/"
    return False


def _is_there(path: str) -> bool:
    try:
        posix.stat(path)
    except OSError:
        return False
    return True


def _say(where: int, text: bytes) -> None:
    while text:
        text = text[posix.write(where, text) :]
