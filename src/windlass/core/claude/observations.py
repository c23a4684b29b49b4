"""What Claude Code says an agent does: its hooks, its output lines and its status file.

Pure: each reader takes one decoded record and returns an observation, or None where the record says
nothing about the state. Records may be anything: an agent can write them itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from windlass.core.reasons import Kind, Reason
from windlass.core.states import (
    IDLE,
    LATEST,
    Observation,
    Source,
    State,
    from_last_message,
    last_report,
)


def from_hook(event: Mapping[str, Any], *, at: float, session: int) -> Observation | None:
    """Reads a hook event as an observation; None where it says nothing about the state."""
    return _observed(Source.HOOK, _meaning(event), at=at, session=session)


def _observed(
    source: Source, meaning: tuple[State, Reason] | None, *, at: float, session: int
) -> Observation | None:
    if meaning is None:
        return None
    value, reason = meaning
    return Observation(source=source, value=value, at=at, reason=reason, session=session)


def _meaning(event: Mapping[str, Any]) -> tuple[State, Reason] | None:
    tool = str(event.get("tool_name", "a tool"))
    match event.get("hook_event_name"):
        case "SessionStart":
            return _started(str(event.get("source", "startup")))
        case "UserPromptSubmit":
            return State.RUNNING, Reason(kind="prompt_taken")
        case "PreToolUse":
            return State.RUNNING, Reason(kind="tool_called", tool=tool)
        case "PostToolUse" | "PostToolUseFailure":
            return State.RUNNING, Reason(kind="tool_returned", tool=tool)
        case "PermissionRequest":
            return State.ASKING, Reason(kind="permission_asked", tool=tool)
        case "Notification" if event.get("notification_type") == "permission_prompt":
            return State.ASKING, Reason(
                kind="dialog_opened", text=str(event.get("message", "permission prompt"))
            )
        case "PreCompact":
            return State.COMPACTING, Reason(
                kind="compacting", text=str(event.get("trigger", "auto"))
            )
        case "PostCompact" if event.get("trigger") == "manual":
            return State.WAITING, Reason(kind="compacted_by_hand")
        case "PostCompact":
            return State.RUNNING, Reason(kind="compacted")
        case "StopFailure":
            said = str(event.get("last_assistant_message") or "")
            return _failed(str(event.get("error", "unknown")), said)
        case "Stop":
            return _stopped(event)
        case _:
            return None


def _started(how: str) -> tuple[State, Reason] | None:
    if how == "compact":
        return None
    if how in ("resume", "clear"):
        return State.WAITING, Reason(kind="session_taken_up", text=how)
    return State.CREATING, Reason(kind="session_started", text=how)


def _stopped(event: Mapping[str, Any]) -> tuple[State, Reason]:
    state, reason = from_last_message(str(event.get("last_assistant_message") or ""))
    tasks = event.get("background_tasks")
    running = [
        str(task.get("description") or task.get("id") or "?")
        for task in (tasks if isinstance(tasks, list) else ())
        if isinstance(task, Mapping) and task.get("status") == "running"
    ]
    return state, msgspec.structs.replace(reason, tasks=tuple(running))


def _failed(error: str, said: str = "") -> tuple[State, Reason]:
    """Reads how a turn failed. A session whose turn failed is idle, and never done."""
    reason = Reason(kind="turn_failed", text=f"{error}: {said[:200]}" if said else error)
    return State.RATE_LIMITED if "rate_limit" in error else State.WAITING, reason


def resumed(seen: Observation, before: Iterable[Observation]) -> Observation:
    """Doubts that a session is idle at its start when its last one was cut off in a turn.

    It takes that turn up by itself; where it does not, its status says so.
    """
    last = last_report(before, before=seen.session)
    if seen.value is not State.WAITING or last is None or last.value in IDLE:
        return seen
    return msgspec.structs.replace(seen, value=State.CREATING, reason=Reason(kind="turn_taken_up"))


def from_status(status: Mapping[str, Any], *, session: int) -> Observation | None:
    """Reads the CLI's status file; None where it says nothing that we know."""
    since = status.get("statusUpdatedAt")
    if not isinstance(since, int | float) or not 0 <= since <= 1000 * LATEST:
        return None
    meaning = _STATUSES.get(str(status.get("status")))
    if meaning is None:
        return None
    value, kind = meaning
    reason = Reason(kind=kind, text=str(status.get("waitingFor") or ""))
    return Observation(
        source=Source.STATUS, value=value, at=since / 1000, reason=reason, session=session
    )


_STATUSES: dict[str, tuple[State, Kind]] = {
    "idle": (State.WAITING, "status_idle"),
    "busy": (State.RUNNING, "status_busy"),
    "waiting": (State.ASKING, "status_waiting"),
    "shell": (State.WAITING, "status_shell"),
}


def from_output(line: Mapping[str, Any], *, at: float, session: int) -> Observation | None:
    """Reads one line of a headless session's output."""
    return _observed(Source.OUTPUT, _said(line), at=at, session=session)


def _said(line: Mapping[str, Any]) -> tuple[State, Reason] | None:
    match line.get("type"), line.get("subtype"):
        case "assistant", _ if not _synthetic(line):
            return State.RUNNING, Reason(kind="model_answers")
        case "system", "api_retry":
            status = line.get("error_status") or line.get("error") or "error"
            return State.RATE_LIMITED, Reason(kind="model_refused", text=str(status))
        case "control_request", _ if _wants_permission(line):
            tool = str(line["request"].get("tool_name", "a tool"))
            return State.ASKING, Reason(kind="permission_asked", tool=tool)
        case "result", _:
            return _ended(line)
        case _:
            return None


def _synthetic(line: Mapping[str, Any]) -> bool:
    """Whether the CLI itself speaks, in the model's place: it tells of an error."""
    message = line.get("message")
    return isinstance(message, Mapping) and message.get("model") == "<synthetic>"


def _wants_permission(line: Mapping[str, Any]) -> bool:
    request = line.get("request")
    return isinstance(request, Mapping) and request.get("subtype") == "can_use_tool"


def _ended(result: Mapping[str, Any]) -> tuple[State, Reason]:
    """Reads how a headless turn ended: by `is_error`, never by the subtype alone."""
    subtype = str(result.get("subtype", ""))
    said = str(result.get("result") or "")
    if not result.get("is_error") and subtype == "success":
        return from_last_message(said)
    if str(result.get("terminal_reason", "")).startswith("aborted"):
        return State.WAITING, Reason(kind="interrupted")
    if result.get("api_error_status") == 429:
        return State.RATE_LIMITED, Reason(kind="turn_failed", text=said[:200] or "429")
    return State.WAITING, Reason(kind="turn_failed", text=said[:200] or subtype or "error")
