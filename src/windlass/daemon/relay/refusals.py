"""How a question to the model is refused: what the agent is told, and what the person alone.

An agent learns what it can act on. Where the model is, what the person's configuration says and
which of their files cannot be read stands in the daemon's log.
"""

from __future__ import annotations

import asyncio
import contextlib
import json

import h11

from windlass.daemon.relay.questions import Peer, Refused

_HEARD_OUT = 5.0
"""Seconds in which the rest of a request is read that is refused: else its answer may be lost."""
_HEARD_OUT_BEFORE = frozenset({403, 502, 503})
"""What a request is refused with that was understood."""
_KINDS = {
    400: "invalid_request_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    502: "api_error",
    503: "overloaded_error",
    504: "timeout_error",
}
SPENT = "the budget of this agent is spent"


async def refuse(caller: Peer, refusal: Refused) -> None:
    """Says why there is no answer, in the words of the API, unless one has begun already."""
    if caller.http.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
        return
    if refusal.status in _HEARD_OUT_BEFORE:
        with contextlib.suppress(TimeoutError, h11.RemoteProtocolError):
            async with asyncio.timeout(_HEARD_OUT):
                while caller.http.their_state is h11.SEND_BODY:
                    await caller.next()
    body = _error(refusal.status, refusal.why)
    headers = [
        ("content-type", "application/json"),
        ("content-length", str(len(body))),
        ("connection", "close"),
    ]
    if refusal.status == 403:
        headers.append(("x-should-retry", "false"))
    head = h11.Response(status_code=refusal.status, headers=headers)
    await caller.say(head, h11.Data(data=body), h11.EndOfMessage())


def _error(status: int, why: str) -> bytes:
    error = {"type": _KINDS[status], "message": f"windlass: {why}"}
    return json.dumps({"type": "error", "error": error}).encode()


def _last_words(error: bytes) -> bytes:
    return b"\n\nevent: error\ndata: " + error + b"\n\n"


LAST_WORDS = _last_words(_error(403, SPENT))
"""How a stream ends that is cut off."""
TOO_LONG = _last_words(_error(413, "this answer is too long to be counted"))
