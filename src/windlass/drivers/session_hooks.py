"""The hooks that every session of a Claude-like CLI gets, in the form that its settings have.

Observing goes over http, which costs a millisecond. SessionStart has no http form, SessionEnd may
not live to see an answer, and what asks for a decision must fail closed, which http does not: those
are commands.
"""

from __future__ import annotations

from pathlib import Path
from shlex import join
from typing import Any

from windlass.core.driver_request import HookChannels
from windlass.core.session_launch import ReceiverSpec

OVER_HTTP = (
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "StopFailure",
    "Notification",
    "PreCompact",
    "PostCompact",
    "SubagentStop",
)
AS_COMMANDS = ("SessionStart", "SessionEnd")
ASKING = ("PreToolUse", "PermissionRequest")
REWAKING = ("SessionStart", "Stop", "StopFailure")
_TIMEOUT = 20
"""Seconds; more than a policy hook waits for the daemon, for a CLI goes on without a late one."""
_WAITS_AT_MOST = 86_400


def receiver(hooks: HookChannels, path: Path) -> ReceiverSpec:
    """Returns the listener for the hooks that `settings` put into that file."""
    return ReceiverSpec(token=hooks.token, events=hooks.events, files=(str(path),))


def settings(hooks: HookChannels, rewake: tuple[str, ...]) -> dict[str, Any]:
    """Returns the `hooks` table of a settings or plugin file."""
    heard = {
        "type": "http",
        "url": hooks.url,
        "headers": {"Authorization": f"Bearer {hooks.token}"},
        "timeout": _TIMEOUT,
    }
    observed = {"type": "command", "command": join(hooks.observe), "timeout": _TIMEOUT}
    decided = {"type": "command", "command": join(hooks.policy), "timeout": _TIMEOUT}
    table: dict[str, list[dict[str, Any]]] = {
        **{event: [heard] for event in OVER_HTTP},
        **{event: [observed] for event in AS_COMMANDS},
        **{event: [decided] for event in ASKING},
    }
    if rewake:
        waiting = {
            "type": "command",
            "command": join(rewake),
            "asyncRewake": True,
            "timeout": _WAITS_AT_MOST,
        }
        for event in REWAKING:
            table[event].append(waiting)
    return {event: [{"hooks": entries}] for event, entries in table.items()}
