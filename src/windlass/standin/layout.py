"""The lines of the live screen: banner, prompt box, dialog, tool calls. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from windlass.standin.face import HookedCall
from windlass.standin.files import ToolResult
from windlass.standin.screen import clean, cut, width, wrap

NAME = "Stand-in agent"
POINTER = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"
HARD_SPACE = "\N{NO-BREAK SPACE}"
SHOWN_LINES = 4
MODES = {
    "acceptEdits": "⏵⏵ accept edits on",
    "bypassPermissions": "⏵⏵ bypass permissions on",
    "plan": "⏸ plan mode on",
    "dontAsk": "⏵⏵ don't ask on",
}
CHOICES = 3
WORKING = "Working"
COMPACTING = "Compacting conversation"
INTERRUPTED = "  ⎿  Interrupted · What should Claude do instead?"


def banner(version: str, cwd: str, columns: int) -> str:
    """Returns the box at the top."""
    inner = min(columns, 100) - 4
    title = f"─── {NAME} v{version} "
    lines = ["no model, no account: this agent plays a script", cut(clean(cwd), inner)]
    return "\n".join(
        [
            f"╭{title}{'─' * (inner + 2 - width(title))}╮",
            *(
                f"│ {line}{' ' * (inner - width(line))} │"
                for line in (cut(x, inner) for x in lines)
            ),
            f"╰{'─' * (inner + 2)}╯",
            "",
        ]
    )


def footer(mode: str, *, busy: bool, shells: int, hint: str) -> str:
    """Returns the line below the prompt, which tells people and programs the state."""
    if hint:
        return f"  {hint}"
    parts = [MODES[mode]] if mode in MODES else []
    if shells:
        parts.append(f"{shells} shell{'s' * (shells > 1)}")
    if busy:
        parts.append("esc to interrupt")
    elif shells:
        parts.append("↓ to manage")
    return "  " + " · ".join(parts or ["? for shortcuts"])


def prompt_box(text: str, *, columns: int, most: int) -> list[str]:
    """Returns the prompt between its rules; of a long draft the end is what shows."""
    rule = "─" * columns
    lines = wrap(text, columns - 3) or [""]
    lines = lines[-most:]
    return [rule, f"{POINTER}{HARD_SPACE}{lines[0]}", *(f"  {line}" for line in lines[1:]), rule]


def dialog(call: HookedCall, *, columns: int, selected: int) -> list[str]:
    """Returns the question whether a tool may run."""
    subject = clean(str(call.input.get("command") or call.input.get("file_path") or call.input))
    title = "Bash command" if call.tool == "Bash" else call.tool
    question = "Do you want to proceed?"
    if call.tool == "Write":
        question = f"Do you want to create {subject.rpartition('/')[2]}?"
    choices = ("Yes", f"Yes, and don't ask again for {call.tool} in this session", "No")
    return [
        "─" * columns,
        f" {title}",
        "",
        *wrap(f"   {subject}", columns, "   ")[:6],
        "",
        f" {question}",
        *(f" {POINTER if n == selected else ' '} {n}. {text}" for n, text in enumerate(choices, 1)),
        "",
        " Esc to cancel",
    ]


def titled(call: HookedCall, cwd: str) -> str:
    """Returns a call as `Tool(what it is about)`."""
    tool_input: dict[str, Any] = call.input
    subject = (
        tool_input.get("command") or tool_input.get("file_path") or tool_input.get("pattern") or ""
    )
    short = clean(str(subject)).removeprefix(f"{cwd}/").split("\n")
    return f"{call.tool}({short[0]}{'…' if len(short) > 1 else ''})"


def outcome(call: HookedCall, result: ToolResult) -> str:
    """Returns what came of a call, indented below it; long output is cut."""
    if result.interrupted:
        return INTERRUPTED
    text = clean(result.content).strip("\n")
    if call.tool == "Bash" and isinstance(result.response, dict):
        if "backgroundTaskId" in result.response:
            return "  ⎿  Running in the background (↓ to manage)"
        text = text or "(No output)"
    elif call.tool == "Read" and not result.error:
        text = f"Read {text.count(chr(10)) + 1} lines"
    lines = text.split("\n")
    if len(lines) > SHOWN_LINES:
        lines = [*lines[: SHOWN_LINES - 1], f"… +{len(lines) - SHOWN_LINES + 1} lines"]
    if result.error:
        lines[0] = f"Error: {lines[0].removeprefix('Error: ')}"
    return "\n".join([f"  ⎿  {lines[0]}", *(f"     {line}" for line in lines[1:])])


def working(seconds: int, doing: Sequence[str], verb: str) -> list[str]:
    """Returns the lines above the prompt while a turn runs."""
    if doing and doing[-1].startswith("✻"):
        return [*doing, ""]  # that it tries again stands in the place of what it does
    spent = f" ({seconds}s)" if seconds else ""
    return [*doing, *([""] if doing else []), f"✻ {verb}…{spent}", ""]
