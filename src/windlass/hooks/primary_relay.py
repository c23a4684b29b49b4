"""Passing a hook's input to the daemon and its answer back; silent where there is none.

No daemon is started. At the start of a session the instructions are printed all the same, where the
repository is one that Windlass was set up in. Only built-in modules as long as a daemon answers.
"""

import posix
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from windlass.hooks import daemon_call, event_record
else:
    import daemon_call
    import event_record

PATIENCE = 1.0
_START = b'"SessionStart"'


def main(arguments: list[str]) -> int:
    """Answers one hook; returns the exit code."""
    socket, instructions = arguments
    body, size = event_record.read_all()
    if size > event_record.LARGEST:
        return 0
    try:
        status, answer = daemon_call.post(socket, b"primary", body, end=time.monotonic() + PATIENCE)
    except (FileNotFoundError, ConnectionRefusedError):
        answer = _alone(body, instructions) if _START in body else b""
        status = 200
    if status == 200 and answer != b"{}":
        daemon_call.say(1, answer)
    return 0


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
