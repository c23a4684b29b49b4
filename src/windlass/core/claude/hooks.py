"""Claude Code's hooks: what each tells of, and the form in which it is answered.

What they say about the state is in `observations`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from windlass.core.dialect import HookAnswer, HookMoment
from windlass.core.policy.tool_calls import Decision

NAMES = {
    HookMoment.SESSION_START: "SessionStart",
    HookMoment.PROMPT: "UserPromptSubmit",
    HookMoment.TOOL_CALL: "PreToolUse",
    HookMoment.PERMISSION: "PermissionRequest",
    HookMoment.TURN_END: "Stop",
}
_MOMENTS = {name: moment for moment, name in NAMES.items()}
_ANSWER = "hookSpecificOutput"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def moment(event: Mapping[str, Any]) -> HookMoment:
    """Returns what an event tells of."""
    return _MOMENTS.get(str(event.get("hook_event_name")), HookMoment.OTHER)


def call_with_mail(event: Mapping[str, Any]) -> str | None:
    """Returns the id of a call that the agent itself is about to make, as text can go with that."""
    call = event.get("tool_use_id")
    if moment(event) is not HookMoment.TOOL_CALL or event.get("agent_id") is not None:
        return None  # a subagent would keep it to itself
    return call if isinstance(call, str) and call else None


def conversation(event: Mapping[str, Any]) -> str | None:
    """Returns the id of a conversation, where it is one."""
    said = event.get("session_id")
    return said if isinstance(said, str) and _UUID.fullmatch(said) else None


def fork_started(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the event with the start of a fork called one."""
    return {**event, "source": "startup"} if event.get("source") == "resume" else event


def answer(event: Mapping[str, Any], decision: Decision) -> dict[str, Any]:
    """Returns the output that an event wants; no opinion is an empty one."""
    if decision.verdict == "ask":
        return {}
    updated = changed_input(event.get("tool_input"), decision)
    if moment(event) is HookMoment.PERMISSION:
        said: dict[str, Any] = {"decision": {**behavior(decision), **updated}}
        return _answer(HookMoment.PERMISSION, said)
    said = {"permissionDecision": decision.verdict, "permissionDecisionReason": decision.reason}
    return _answer(HookMoment.TOOL_CALL, {**said, **updated})


def changed_input(asked: Any, decision: Decision) -> dict[str, Any]:
    """Returns what a call is to be made with, where that is not what it asked for."""
    if not decision.line or not isinstance(asked, Mapping):
        return {}
    return {"updatedInput": {**asked, "command": decision.line}}


def behavior(decision: Decision) -> dict[str, str]:
    """Returns a decision as a dialog would make it, where nobody is there to be asked."""
    match decision.verdict:
        case "allow":
            return {"behavior": "allow"}
        case "deny":
            return {"behavior": "deny", "message": decision.reason}
        case "ask":
            return {"behavior": "deny", "message": "nobody is there to be asked"}


def with_mail(answer: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Returns an answer about a call with text that the model is shown besides."""
    said = answer.get(_ANSWER, {})
    return {**answer, **_answer(HookMoment.TOOL_CALL, {**said, "additionalContext": text})}


def read_answer(answer: Any) -> HookAnswer:
    """Reads an answer of ours back: an agent can write such lines itself, of any shape."""
    said = answer.get(_ANSWER) if isinstance(answer, Mapping) else None
    said = said if isinstance(said, Mapping) else {}
    decision = said.get("decision")
    message = decision.get("message") if isinstance(decision, Mapping) else None
    return HookAnswer(said.get("hookEventName"), said.get("permissionDecisionReason") or message)


def _answer(moment: HookMoment, said: Mapping[str, Any]) -> dict[str, Any]:
    return {_ANSWER: {"hookEventName": NAMES[moment], **said}}
