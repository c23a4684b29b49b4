"""What an agent CLI tells its hooks, and what they answer. The words are the CLI's own."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class HookInput(TypedDict):
    """What an agent CLI tells a hook about a call of a tool. It is the agent's: trust no type."""

    hook_event_name: NotRequired[Any]
    session_id: NotRequired[Any]
    agent_id: NotRequired[Any]
    tool_name: NotRequired[Any]
    tool_use_id: NotRequired[Any]
    tool_input: NotRequired[Any]
    cwd: NotRequired[Any]


class HookOutput(TypedDict):
    """What a hook prints; no opinion is an empty one."""

    hookSpecificOutput: NotRequired[dict[str, Any]]
