"""One tool call from asking to result: hooks first, then rules, then people, then the tool."""

from __future__ import annotations

import os
from time import monotonic
from typing import Any

from windlass.core.script import cursor as play
from windlass.core.script.format import Tool
from windlass.standin.conversation import Conversation
from windlass.standin.face import Answer, HookedCall, Interrupted
from windlass.standin.files import TOOLS, ToolResult, failed, missing
from windlass.standin.permissions import decide

REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was "
    "a file edit, the new_string was NOT written to the file). "
    "STOP what you are doing and wait for the user to tell you how to proceed."
)
PATHS = ("file_path", "path")


class Rejected(Interrupted):
    """A person said no to a tool, or stopped it, which ends the turn."""


def call_tool(talk: Conversation, entry: Tool) -> None:
    """Plays a tool entry: asks, acts, records the result, tells the hooks."""
    call = HookedCall("toolu_" + os.urandom(12).hex(), entry.name, _absolute(talk, entry))
    talk.say({"type": "tool_use", "id": call.id, "name": call.tool, "input": call.input})
    talk.check_budget()
    started = monotonic()
    try:
        refusal = _refusal(talk, call)
        started = monotonic()
        result = refusal or _act(talk, call)
    except Interrupted:
        _settle(talk, call, ToolResult(REJECTED, error=True, interrupted=True))
        raise Rejected from None
    _settle(talk, call, result)
    if refusal is None:
        _tell(talk, call, result, started=started)


def _settle(talk: Conversation, call: HookedCall, result: ToolResult) -> None:
    talk.cursor = play.advance(talk.cursor)
    talk.result(call, result)
    talk.add_contexts("PreToolUse", call.contexts)


def _tell(talk: Conversation, call: HookedCall, result: ToolResult, *, started: float) -> None:
    took = int((monotonic() - started) * 1000)
    fields: dict[str, Any] = {"tool_name": call.tool, "tool_input": call.input}
    if result.error:
        outcome = talk.fire(
            "PostToolUseFailure",
            **fields,
            tool_use_id=call.id,
            error=result.content,
            is_interrupt=False,
            duration_ms=took,
        )
    else:
        outcome = talk.fire(
            "PostToolUse",
            **fields,
            tool_response=result.response,
            tool_use_id=call.id,
            duration_ms=took,
        )
    feedback = [outcome.reason] if outcome.blocked and outcome.reason else []
    event = "PostToolUseFailure" if result.error else "PostToolUse"
    talk.add_contexts(event, [*feedback, *outcome.contexts])


def _refusal(talk: Conversation, call: HookedCall) -> ToolResult | None:
    """Returns why the call must not run, or None when it may; may rewrite its input."""
    if call.tool != "Bash" and call.tool not in TOOLS:
        problem = f"Error: No such tool available: {call.tool}"
        return failed(f"<tool_use_error>{problem}</tool_use_error>")
    outcome = talk.fire(
        "PreToolUse", tool_name=call.tool, tool_input=call.input, tool_use_id=call.id
    )
    call.contexts = outcome.contexts
    if outcome.updated_input is not None and outcome.decision != "deny":
        call.input = outcome.updated_input
    if outcome.decision == "deny":
        erred = f"PreToolUse:{call.tool} hook error: " if outcome.erred else ""
        reason = outcome.reason or f"Hook PreToolUse:{call.tool} denied this tool"
        return _denied(talk, call, erred + reason)
    ruled = decide(talk.rules, call.tool, call.input)
    if ruled == "deny":
        command = f" with command {call.input.get('command')}" if call.tool == "Bash" else ""
        return _denied(talk, call, f"Permission to use {call.tool}{command} has been denied.")
    if outcome.decision == "allow" or (ruled == "allow" and outcome.decision != "ask"):
        return None
    return _asked(talk, call)


def _asked(talk: Conversation, call: HookedCall) -> ToolResult | None:
    suggestions = _suggestions(talk, call)

    def hooks() -> Answer | None:
        outcome = talk.fire(
            "PermissionRequest",
            tool_name=call.tool,
            tool_input=call.input,
            permission_suggestions=suggestions,
        )
        if outcome.decision not in {"allow", "deny"}:
            return None
        reason = outcome.reason or "Denied by PermissionRequest hook"
        return Answer(outcome.decision == "allow", reason, outcome.updated_input)

    answer = talk.face.ask(call, suggestions, hooks)
    if answer.always:
        talk.rules.allow.append(call.tool)
    if answer.allowed:
        call.input = answer.updated_input or call.input
        return None
    if answer.ends_turn:
        raise Rejected
    said = answer.message or f"Permission to use {call.tool} was requested but not granted."
    return _denied(talk, call, said)


def _suggestions(talk: Conversation, call: HookedCall) -> list[dict[str, Any]]:
    """Returns what a person could allow from now on, in the order of the real program."""
    folder = {"type": "addDirectories", "directories": [str(talk.cwd)], "destination": "session"}
    mode = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    if call.tool != "Bash":
        return [mode, folder]
    rule = {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": str(call.input.get("command", ""))}],
        "behavior": "allow",
        "destination": "localSettings",
    }
    return [rule, folder, mode]


def _denied(talk: Conversation, call: HookedCall, reason: str) -> ToolResult:
    talk.turn.denials.append(
        {"tool_name": call.tool, "tool_use_id": call.id, "tool_input": call.input}
    )
    return failed(reason)


def _act(talk: Conversation, call: HookedCall) -> ToolResult:
    problem = missing(call.input, ("command",) if call.tool == "Bash" else TOOLS[call.tool][1])
    if problem:
        return failed(problem)
    try:
        if call.tool == "Bash":
            return talk.shell.run(call.input, call.id)
        return TOOLS[call.tool][0](call.input, talk.cwd)
    except (OSError, ValueError, TypeError, NotImplementedError) as error:
        return failed(f"{type(error).__name__}: {error}")


def _absolute(talk: Conversation, entry: Tool) -> dict[str, Any]:
    """Fills in a tool's input and makes its paths absolute, as real models give them."""
    tool_input: dict[str, Any] = talk.filled(entry.input)
    for key in PATHS:
        if entry.name in TOOLS and isinstance(tool_input.get(key), str):
            tool_input[key] = str(talk.cwd / tool_input[key])
    return tool_input
