"""Lines of headless output: what kind each is, and how people read them.

JSON lines become the few words that a terminal would show.

Pure, and total: lines are an agent's and may be anything. What a line of no known kind says is left
out; what is no JSON is shown as it is, cut. Nothing that is returned holds an escape sequence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from windlass.core import agents_json
from windlass.core.dialect import LineKind
from windlass.core.events import TurnEnded
from windlass.core.policy.tool_calls import FILE_TOOLS
from windlass.core.printable import without_escapes

LONGEST = 2000
"""No line that is returned is longer, in characters."""
_CALL = 160
_RESULT_LINES = 3
_USER_LINES = 6
_LONGEST_RESULT = 4096
_TELLING = ("command", "pattern", "query", "url", "description", "prompt", "subject")
"""Inputs that say what a call is about, for tools that work on no file."""


def kind(line: Any) -> LineKind:
    """What a decoded line is to whoever drives the session."""
    match line:
        case {"type": "result"}:
            return LineKind.RESULT
        case {"type": "control_request"}:
            return LineKind.REQUEST
        case {"subtype": "init"}:
            return LineKind.BEGINNING
        case {"subtype": "api_retry"}:
            return LineKind.RETRY
        case _:
            return LineKind.OTHER


def ran_out_of_turns(result: Mapping[str, Any]) -> bool:
    """Whether the line that ends a turn says that `--max-turns` were used up."""
    return result.get("subtype") == "error_max_turns"


def summary(result: Mapping[str, Any]) -> TurnEnded:
    """What is worth keeping of the line that ends a turn."""
    said = result.get("result")
    return TurnEnded(
        subtype=result.get("subtype"),
        is_error=result.get("is_error"),
        api_error_status=result.get("api_error_status"),
        num_turns=result.get("num_turns"),
        total_cost_usd=result.get("total_cost_usd"),
        duration_ms=result.get("duration_ms"),
        result=said[:_LONGEST_RESULT] if isinstance(said, str) else None,
    )


def shown(text: str) -> list[str]:
    """Turns output into lines for people; a last line that is still being written is left out."""
    # Not `splitlines`: JSON may hold what Unicode calls a line end.
    *lines, rest = text.split("\n")
    if not rest.startswith("{"):
        lines.append(rest)
    return [
        _cut(shown_line, LONGEST) for line in lines if line.strip() for shown_line in _said(line)
    ]


def _said(line: str) -> Iterator[str]:
    try:
        record: Any = agents_json.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        yield _cut(_flat(line), _CALL)
        return
    match record:
        case {"parent_tool_use_id": str()}:
            return  # a sub-agent's own talk; the call that started it is shown
        case {"type": "user", "isMeta": True}:
            return
        case {"type": "assistant" | "user" as who, "message": {"content": content}}:
            for block in [_text(content)] if isinstance(content, str) else _list(content):
                yield from _block(block, who)
        case {"type": "result"}:
            yield _ended(record)
        case {"type": "system"}:
            yield from _system(record)
        case {"type": "control_request", "request": {"subtype": "can_use_tool"} as asked}:
            yield f"✻ asks to use {_call(asked.get('tool_name'), asked.get('input'))}"
        case dict():
            return
        case _:
            yield _cut(_flat(line), _CALL)


def _block(block: Any, who: str) -> Iterator[str]:
    match block:
        case {"type": "text", "text": str(text)} if who == "user":
            yield from _below("\u276f ", "  ", text, most=_USER_LINES)
        case {"type": "text", "text": str(text)}:
            yield from _below("● ", "  ", text)
        case {"type": "tool_use"}:
            yield f"● {_call(block.get('name'), block.get('input'))}"
        case {"type": "tool_result"}:
            content = block.get("content")
            text = content if isinstance(content, str) else "\n".join(_texts(content))
            wrong = "Error: " if block.get("is_error") is True else ""
            yield from _below("  ⎿  ", "     ", wrong + (text or "(nothing)"), most=_RESULT_LINES)


def _texts(content: Any) -> Iterator[str]:
    for part in _list(content):
        match part:
            case {"type": "text", "text": str(text)}:
                yield text
            case {"type": str(kind)}:
                yield f"[{kind}]"


def _call(name: Any, arguments: Any) -> str:
    """`Bash(git status)`: the tool, and what it is about."""
    tool = _flat(name) if isinstance(name, str) else "?"
    about = ""
    if isinstance(arguments, dict):
        fields = (FILE_TOOLS.get(tool, ""), *_TELLING, *arguments)
        about = next(
            (v for f in fields if isinstance(v := arguments.get(f), str) and v.strip()), ""
        )
    return f"{_cut(tool, _CALL)}({_cut(_flat(about), _CALL)})"


def _ended(result: dict[str, Any]) -> str:
    calls, cost = result.get("num_turns"), result.get("total_cost_usd")
    facts = []
    if isinstance(calls, int) and 0 <= calls < 1_000_000_000:
        facts.append(f"{calls:d} call{'' if calls == 1 else 's'}")
    # The program counts from its start, not from the start of the turn.
    if isinstance(cost, int | float) and 0 <= cost < 1_000_000_000:
        facts.append(f"${cost:.{2 if cost >= 1 else 4}f} so far")
    known = ", ".join(facts)
    if result.get("is_error") is not True and result.get("subtype") in ("success", None):
        return f"✻ turn ended: {known}" if known else "✻ turn ended"
    errors = [error for error in _list(result.get("errors")) if isinstance(error, str)]
    why = "; ".join(errors) or result.get("result") or result.get("subtype")
    said = _cut(_flat(why), 4 * _CALL) if isinstance(why, str) else "for no given reason"
    return f"✻ turn failed: {said}" + (f" ({known})" if known else "")


def _system(record: dict[str, Any]) -> Iterator[str]:
    match record:
        case {"subtype": "api_retry"}:
            error, delay = record.get("error"), record.get("retry_delay_ms")
            why = f": {_cut(_flat(error), _CALL)}" if isinstance(error, str) else ""
            timed = isinstance(delay, int) and 0 <= delay < 1_000_000_000
            when = f" in {delay // 1000:d} s" if timed and isinstance(delay, int) else ""
            yield f"✻ asks the model again{when}{why}"
        case {"subtype": "compact_boundary"}:
            yield "✻ conversation compacted"
        case {"subtype": "informational", "content": str(text)}:
            yield from _below("✻ ", "  ", text, most=_USER_LINES)


def _below(first: str, others: str, text: str, *, most: int | None = None) -> Iterator[str]:
    """A text's lines below each other behind a sign; says how many were left out."""
    lines = without_escapes(text).strip().split("\n")
    for number, line in enumerate(lines[:most]):
        yield (f"{others if number else first}{line.expandtabs(4)}").rstrip()
    if most is not None and len(lines) > most:
        yield f"{others}… +{len(lines) - most} lines"


def _flat(text: str) -> str:
    """A text on one line."""
    return " ".join(without_escapes(text).split())


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
