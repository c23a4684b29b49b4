"""Events of hooks: what sessions fire, what policy denied, and what could not be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec
from msgspec import UNSET

from windlass.core.events.catalogue import EventData, Logged

HookName = Literal[
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PermissionRequest",
    "PostToolUse",
    "PostToolUseFailure",
    "Notification",
    "PreCompact",
    "PostCompact",
    "SubagentStop",
    "Stop",
    "StopFailure",
    "SessionEnd",
]
"""The hooks that sessions are given. A hook of another name is written as it is called."""
HOOKS: tuple[HookName, ...] = get_args(HookName)
DECIDERS = ("daemon", "policy file", "hook")
"""Who denies calls, as our hooks write it down; an agent can write anything in that place."""
_PREFIX = "hook."
_LONGEST_KIND = 48
"""As long as the column of the log."""


class Hook(EventData, kind="hook.*"):
    """A session fired a hook; what it says is the agent CLI's own, and cut where it is long."""

    name: str
    tool_name: Any = None
    tool_input: Any = None
    prompt: Any = None
    last_assistant_message: Any = None
    error: Any = None
    message: Any = None
    source: Any = None
    reason: Any = None
    notification_type: Any = None
    trigger: Any = None

    @staticmethod
    def may_be_called(name: object) -> bool:
        """Whether a hook can have that name: it becomes part of a kind, which is of our own words.

        One with blanks or line ends in it would show lines in the log that nobody wrote.
        """
        return (
            isinstance(name, str)
            and name.isascii()
            and name.isalpha()
            and len(_PREFIX + name) <= _LONGEST_KIND
            and _PREFIX + name not in (PolicyDecision.kind, HookGarbage.kind)
        )

    @staticmethod
    def kind_of(name: str) -> str:
        """The kind of the events of one hook."""
        return f"{_PREFIX}{name}"

    def written(self) -> tuple[str, dict[str, Any]]:
        """The kind, of which its name is a part, and the data without that name."""
        data = msgspec.to_builtins(self)
        return f"{_PREFIX}{data.pop('name')}", data

    @classmethod
    def fields_of(cls, event: Logged) -> Mapping[str, Any]:
        """The data, and the name that the kind holds."""
        return {**event.data, "name": event.kind.removeprefix(_PREFIX)}


class PolicyDecision(EventData, kind="hook.PolicyDecision"):
    """A tool call was denied; `asked` is there instead of the call where that could not be read."""

    by: Any
    hook: Any
    reason: Any
    asked: Any = UNSET
    tool_name: Any = UNSET
    tool_input: Any = UNSET
    cwd: Any = UNSET


class HookGarbage(EventData, kind="hook.garbage"):
    """Lines in a session's file of hook events could not be read; the first of them is shown."""

    line: str
    lines: int
