"""Replies as the Messages API sends them: server-sent events, one JSON object, or an error."""

from __future__ import annotations

from typing import Any

import msgspec

from windlass.core.script.format import TOKEN_KINDS, ApiError, Crash, Pause, Text, Thinking
from windlass.model.conversation import Reply, Step, ToolUse

ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
MESSAGES = {
    401: "invalid x-api-key",
    429: "This request would exceed your rate limit. Please try again later.",
    500: "Internal server error",
    529: "Overloaded",
}
SIGNATURE = "d2luZGxhc3M="
PING = b'event: ping\ndata: {"type":"ping"}\n\n'


def opening(reply: Reply, model: str) -> bytes:
    """Returns the event that begins a reply."""
    message = {**_message(reply, model), "content": [], "stop_reason": None}
    return _event("message_start", message=message)


def block(index: int, step: Step) -> bytes:
    """Returns the events of one block of content."""
    match step:
        case Text(text=text):
            start: dict[str, Any] = {"type": "text", "text": ""}
            deltas: list[dict[str, Any]] = [{"type": "text_delta", "text": text}]
        case Thinking(thinking=thinking):
            start = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": thinking},
                {"type": "signature_delta", "signature": SIGNATURE},
            ]
        case ToolUse(id=call, name=name, input=tool_input):
            start = {"type": "tool_use", "id": call, "name": name, "input": {}}
            partial = msgspec.json.encode(tool_input).decode()
            deltas = [{"type": "input_json_delta", "partial_json": partial}]
        case _:
            return b""
    return b"".join(
        [
            _event("content_block_start", index=index, content_block=start),
            *(_event("content_block_delta", index=index, delta=delta) for delta in deltas),
            _event("content_block_stop", index=index),
        ]
    )


def closing(reply: Reply) -> bytes:
    """Returns the events that end a reply."""
    delta = {"stop_reason": _stop_reason(reply), "stop_sequence": None}
    return _event("message_delta", delta=delta, usage=_usage(reply)) + _event("message_stop")


def whole(reply: Reply, model: str) -> bytes:
    """Returns a reply as one object, for who did not ask for a stream."""
    content = [_content(step) for step in reply.steps if not isinstance(step, Pause | Crash)]
    return msgspec.json.encode({**_message(reply, model), "content": content})


def failure(status: int, message: str | None = None) -> bytes:
    """Returns the body of an error."""
    kind = ERRORS.get(status, "api_error" if status >= 500 else "invalid_request_error")
    said = message or MESSAGES.get(status, "The request failed")
    return msgspec.json.encode({"type": "error", "error": {"type": kind, "message": said}})


def retry_after(error: ApiError) -> dict[str, str]:
    """Returns the header that says when to ask again."""
    return {} if error.retry_after is None else {"retry-after": f"{error.retry_after:g}"}


def example(schema: dict[str, Any] | None) -> str:
    """Returns an answer to a side request: words, or the smallest JSON that follows its schema."""
    return "Noted." if schema is None else msgspec.json.encode(_smallest(schema)).decode()


def _smallest(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return None
    if "const" in schema:
        return schema["const"]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    properties = schema.get("properties")
    if isinstance(properties, dict):
        return {
            name: _smallest(properties.get(name)) for name in schema.get("required", properties)
        }
    kinds: dict[str, Any] = {"string": "Scripted session", "boolean": True, "array": []}
    return kinds.get(str(schema.get("type")), 0)


def _message(reply: Reply, model: str) -> dict[str, Any]:
    return {
        "id": reply.id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": _stop_reason(reply),
        "stop_sequence": None,
        "usage": _usage(reply),
    }


def _content(step: Step) -> dict[str, Any]:
    match step:
        case Text(text=text):
            return {"type": "text", "text": text}
        case Thinking(thinking=thinking):
            return {"type": "thinking", "thinking": thinking, "signature": SIGNATURE}
        case ToolUse(id=call, name=name, input=tool_input):
            return {"type": "tool_use", "id": call, "name": name, "input": tool_input}
        case _:
            raise AssertionError(step)


def _stop_reason(reply: Reply) -> str:
    called = bool(reply.steps) and isinstance(reply.steps[-1], ToolUse)
    return "tool_use" if called else "end_turn"


def _usage(reply: Reply) -> dict[str, int]:
    return {kind: reply.tokens.get(kind, 0) for kind in TOKEN_KINDS}


def _event(kind: str, **fields: Any) -> bytes:
    data = msgspec.json.encode({"type": kind, **fields})
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), data)
