"""What Claude Code says an agent does: its hooks, its output lines and its status file.

Pure: each reader takes one decoded record and returns an observation, or None where the record says
nothing about the state. Records may be anything: an agent can write them itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from windlass.core.states import IDLE, Observation, Source, State, from_last_message


def from_hook(event: Mapping[str, Any], *, at: float, session: int) -> Observation | None:
    """Reads a hook event as an observation; None where it says nothing about the state."""
    return _observed(Source.HOOK, _meaning(event), at=at, session=session)


def _observed(
    source: Source, meaning: tuple[State, str] | None, *, at: float, session: int
) -> Observation | None:
    if meaning is None:
        return None
    value, evidence = meaning
    return Observation(source=source, value=value, at=at, evidence=evidence, session=session)


def _meaning(event: Mapping[str, Any]) -> tuple[State, str] | None:
    tool = event.get("tool_name", "a tool")
    match event.get("hook_event_name"):
        case "SessionStart":
            return _started(str(event.get("source", "startup")))
        case "UserPromptSubmit":
            return State.RUNNING, "took a prompt"
        case "PreToolUse":
            return State.RUNNING, f"called {tool}"
        case "PostToolUse" | "PostToolUseFailure":
            return State.RUNNING, f"{tool} returned"
        case "PermissionRequest":
            return State.ASKING, f"asks permission for {tool}"
        case "Notification" if event.get("notification_type") == "permission_prompt":
            return State.ASKING, str(event.get("message", "permission prompt"))
        case "PreCompact":
            return State.COMPACTING, f"compacting ({event.get('trigger', 'auto')})"
        case "PostCompact" if event.get("trigger") == "manual":
            return State.WAITING, "idle: compacted"
        case "PostCompact":
            return State.RUNNING, "compacted"
        case "StopFailure":
            said = str(event.get("last_assistant_message") or "")
            return _failed(str(event.get("error", "unknown")), said)
        case "Stop":
            return _stopped(event)
        case _:
            return None


def _started(how: str) -> tuple[State, str] | None:
    if how == "compact":
        return None
    if how in ("resume", "clear"):
        return State.WAITING, f"idle: session start ({how})"
    return State.CREATING, f"session start ({how})"


def _stopped(event: Mapping[str, Any]) -> tuple[State, str]:
    state, evidence = from_last_message(str(event.get("last_assistant_message") or ""))
    tasks = event.get("background_tasks")
    running = [
        str(task.get("description") or task.get("id") or "?")
        for task in (tasks if isinstance(tasks, list) else ())
        if isinstance(task, Mapping) and task.get("status") == "running"
    ]
    if running:
        evidence = f"{evidence}; in the background: {', '.join(running)}"
    return state, evidence


def _failed(error: str, said: str = "") -> tuple[State, str]:
    """Reads how a turn failed. A session whose turn failed is idle, and never done."""
    told = f"turn ended by an error: {error}" + (f": {said[:200]}" if said else "")
    return State.RATE_LIMITED if "rate_limit" in error else State.WAITING, told


def resumed(seen: Observation, before: Iterable[Observation]) -> Observation:
    """Doubts that a session is idle at its start when its last one was cut off in a turn.

    It takes that turn up by itself; where it does not, its status says so.
    """
    reports = (Source.HOOK, Source.OUTPUT)
    told = [o for o in before if o.source in reports and o.session < seen.session]
    last = max(told, key=lambda o: o.at, default=None)
    if seen.value is not State.WAITING or last is None or last.value in IDLE:
        return seen
    return msgspec.structs.replace(
        seen, value=State.CREATING, evidence="session start, with a turn to go on with"
    )


def from_status(status: Mapping[str, Any], *, session: int) -> Observation | None:
    """Reads the CLI's status file; None where it says nothing that we know."""
    since = status.get("statusUpdatedAt")
    if not isinstance(since, int | float):
        return None
    value, evidence = _STATUSES.get(str(status.get("status")), (None, ""))
    if value is None:
        return None
    if asked := status.get("waitingFor"):
        evidence = f"{evidence}: {asked}"
    return Observation(
        source=Source.STATUS, value=value, at=since / 1000, evidence=evidence, session=session
    )


_STATUSES: dict[str, tuple[State | None, str]] = {
    "idle": (State.WAITING, "its status file says idle"),
    "busy": (State.RUNNING, "its status file says busy"),
    "waiting": (State.ASKING, "its status file says waiting"),
    "shell": (State.WAITING, "its status file says idle, with a shell in the background"),
}


def from_output(line: Mapping[str, Any], *, at: float, session: int) -> Observation | None:
    """Reads one line of a headless session's output."""
    return _observed(Source.OUTPUT, _said(line), at=at, session=session)


def _said(line: Mapping[str, Any]) -> tuple[State, str] | None:
    match line.get("type"), line.get("subtype"):
        case "assistant", _ if not _synthetic(line):
            return State.RUNNING, "the model answers"
        case "system", "api_retry":
            status = line.get("error_status") or line.get("error") or "error"
            return State.RATE_LIMITED, f"the model refused ({status}), trying again"
        case "control_request", _ if _wants_permission(line):
            return State.ASKING, f"asks permission for {line['request'].get('tool_name', 'a tool')}"
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


def _ended(result: Mapping[str, Any]) -> tuple[State, str]:
    """Reads how a headless turn ended: by `is_error`, never by the subtype alone."""
    subtype = str(result.get("subtype", ""))
    said = str(result.get("result") or "")
    if not result.get("is_error") and subtype == "success":
        return from_last_message(said)
    if str(result.get("terminal_reason", "")).startswith("aborted"):
        return State.WAITING, "interrupted"
    if result.get("api_error_status") == 429:
        return State.RATE_LIMITED, f"turn ended by an error: {said[:200] or 429}"
    why = said[:200] or subtype or "error"
    return State.WAITING, f"turn ended by an error: {why}"
