"""What the server answers with: replies as JSON, and errors as whoever asked is told of them."""

from __future__ import annotations

import json
import logging
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from windlass import disk_room
from windlass.core.errors import Internal, Unavailable, WindlassError

log = logging.getLogger(__name__)

_STATUS = {"usage": 400, "config": 409, "denied": 403, "not_found": 404, "conflict": 409}


def encode(value: Any) -> bytes:
    """A value as JSON, names that are not UTF-8 included."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # escapes carry what bytes cannot
        return json.dumps(msgspec.to_builtins(value)).encode()


def json_reply(value: Any, *, status: int = 200) -> Response:
    """The answer that says a value."""
    return reply(encode(value), status=status)


def reply(body: bytes, *, status: int = 200) -> Response:
    """The answer that says what was encoded before."""
    return Response(body, status_code=status, media_type="application/json")


def refusal(request: Request, error: Exception) -> Response:
    """The answer to a request that came to nothing."""
    said = told(request.url.path.rpartition("/")[2], error)
    return json_reply(_body(said), status=_STATUS.get(said.kind, 500))


def unread(error: WindlassError) -> bytes:
    """The whole answer to a connection of which nothing is read."""
    status = HTTPStatus(_STATUS.get(error.kind, HTTPStatus.SERVICE_UNAVAILABLE))
    body = encode(_body(error))
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: application/json\r\n"
        f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def told(what: str, error: Exception) -> WindlassError:
    """What is told of an error that `what` ended with; of a defect the log is told more."""
    if isinstance(error, WindlassError):
        return error
    log.error("%s failed", what, exc_info=error)
    if hint := disk_room.hint(error):
        return Unavailable(f"{what}: {error}", hint)
    return Internal(
        f"{what}: {type(error).__name__}: {error}",
        "this is a defect of Windlass; `wl daemon logs` has the details",
    )


def _body(error: WindlassError) -> dict[str, str]:
    return {"kind": error.kind, "message": error.message, "hint": error.hint}
