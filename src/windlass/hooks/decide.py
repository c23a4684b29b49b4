"""Asking whether a tool may be used: the policy hook from its input to its answer.

Records a call first, so that the daemon knows of it even if the hook is killed; a request for
permission only where it stays one, and a dialog opens. Asks the daemon, which has ten seconds, and
prints its answer as it is; one that died has as long to come back, and is asked again. Without an
answer it decides alone (see `alone`): at once where there is no socket, because the person stopped
the daemon. A denial is recorded once more, with who decided. Whatever goes wrong, the answer is a
denial. Only built-in modules as long as the daemon answers.
"""

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from windlass.hooks import daemon_call, event_record
else:
    import daemon_call
    import event_record

PATIENCE = 10.0
"""Seconds that a daemon may think, or be away: neither a busy machine is a reason to deny, nor one
whose daemon was just killed. A session's holder brings it back (`sessions/daemon_watch.py`)."""
_BETWEEN_TRIES = 0.05
_AWAY = 500
"""The status of a daemon that ends or has no room, and stands for one that is not there."""
_KEPT_OF_A_CALL = 1 << 16


def main(arguments: list[str]) -> int:
    """Answers one call; returns the exit code."""
    body = b""
    try:
        body, size = event_record.read_all()
        events, wake, api, policy_file = arguments
        line = event_record.line(body, size)
        opens_dialog = _is_permission_request(body)
        if not opens_dialog:
            _record(events, line)
        if size > event_record.LARGEST:
            body = b""  # what was cut is no longer what was asked
        answer, by, readable = _decide(body, api, policy_file)
    except Exception as error:  # noqa: BLE001 - it fails closed, in words that the agent reads
        what = f"the policy hook failed: {type(error).__name__}"
        daemon_call.say(1, refusal(body, what.encode("ascii", "replace")))
        return 0
    daemon_call.say(1, answer)
    if opens_dialog and b'"decision"' not in answer:
        _record(events, line)  # only now: where it is decided, nobody is asked
    # A reason that speaks of "deny" has its quotes escaped.
    if b'"deny"' in answer:
        event = _denial_event(by, body.strip(), answer, readable=readable)
        _record(events, event_record.line(event, 0))
    _poke(wake)
    return 0


def refusal(body: bytes, reason: bytes) -> bytes:
    """A denial in the form that its event wants, as far as that can be seen in what came in."""
    if _is_permission_request(body):
        decision = b'"decision": {"behavior": "deny", "message": "%b"}' % reason
        return b'{"hookSpecificOutput": {"hookEventName": "PermissionRequest", %b}}' % decision
    decision = b'"permissionDecision": "deny", "permissionDecisionReason": "%b"' % reason
    return b'{"hookSpecificOutput": {"hookEventName": "PreToolUse", %b}}' % decision


def _is_permission_request(body: bytes) -> bool:
    return b'"PermissionRequest"' in body and b'"PreToolUse"' not in body


def _decide(body: bytes, api: str, policy_file: str) -> tuple[bytes, bytes, bool]:
    """Returns the answer, who gave it, and whether the call is JSON."""
    answer = _ask(api, body) if body else None
    if answer is not None:
        return answer, b"daemon", True
    # Imported only here: it needs `json`, which would be most of this program's start.
    if TYPE_CHECKING:
        from windlass.hooks import alone  # noqa: PLC0415
    else:
        import alone  # noqa: PLC0415
    call = alone.read(body)
    if call is None:
        return refusal(body, b"what the policy hook was asked cannot be read"), b"hook", False
    return alone.decide(call, policy_file), b"policy file", True


def _ask(path: str, body: bytes) -> bytes | None:
    """Asks the daemon until it answers; None if that does not happen in time."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            status, answer = daemon_call.post(path, b"decide", body, end=end)
        except (FileNotFoundError, TimeoutError):
            return None
        except OSError:
            status = _AWAY
        if status < _AWAY:
            return answer if status == 200 and answer.startswith(b"{") else None
        time.sleep(_BETWEEN_TRIES)
    return None


def _denial_event(by: bytes, asked: bytes, answer: bytes, *, readable: bool) -> bytes:
    """The event of a denial; a call that is long or no JSON is quoted, and cut."""
    if not readable or len(asked) > _KEPT_OF_A_CALL:
        import _json  # noqa: PLC0415 not on the way of what is allowed

        cut = asked[:_KEPT_OF_A_CALL].decode("utf-8", "replace")
        asked = _json.encode_basestring_ascii(cut).encode()
    return b'{"hook_event_name": "PolicyDecision", "by": "%b", "asked": %b, "answered": %b}' % (
        by,
        asked,
        answer,
    )


def _record(events: str, line: bytes) -> None:
    try:
        event_record.append(events, line)
    except (OSError, ValueError):
        return  # a full disk: what is decided does not depend on it


def _poke(wake: str) -> None:
    """Only at the end: while the daemon reads events it would be slower to answer."""
    try:
        event_record.poke(wake)
    except (OSError, ValueError):
        return  # nobody listens
