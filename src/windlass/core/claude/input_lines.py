"""What Claude Code is told: lines for a headless session's input, text typed into a live one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from windlass.core.claude import hooks
from windlass.core.policy.tool_calls import Decision


def user_line(text: str) -> str:
    """Returns the line by which a session is told something."""
    content = [{"type": "text", "text": text}]
    return _line({"type": "user", "message": {"role": "user", "content": content}})


def interrupt_line(name: str) -> str:
    """Returns the line that stops the present turn."""
    request = {"subtype": "interrupt"}
    return _line({"type": "control_request", "request_id": name, "request": request})


def permission_asked(line: Any) -> dict[str, Any] | None:
    """Returns the tool call that an output line asks permission for; None where it asks none."""
    match line:
        case {"type": "control_request", "request": {"subtype": "can_use_tool"} as request}:
            return {"tool_name": request.get("tool_name"), "tool_input": request.get("input")}
        case _:
            return None


def permission_line(asked: Mapping[str, Any], decision: Decision) -> str:
    """Returns the answer to an output line that asks permission; mostly with what it asked for."""
    response: dict[str, Any] = hooks.behavior(decision)
    if decision.verdict == "allow":
        wanted = asked["request"].get("input")
        response["updatedInput"] = wanted
        response |= hooks.changed_input(wanted, decision)
    answer = {"subtype": "success", "request_id": asked.get("request_id"), "response": response}
    return _line({"type": "control_response", "response": answer})


def typed(text: str) -> str:
    """Returns what to type so that a text is taken for a text.

    After a first `!` the rest would run in a shell that no policy sees; Enter after a backslash is
    a new line. Blanks help against both, and the one at the end is cut off again: measured.
    """
    return (" " if text.startswith("!") else "") + text + (" " if text.endswith("\\") else "")


def _line(message: Mapping[str, Any]) -> str:
    return msgspec.json.encode(message).decode() + "\n"
