"""Calls of tools as hooks tell of them: what is called, and which paths it reaches.

Pure: whether a path is inside of a place is for its caller to find out. Inputs are the agent's and
may be anything.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from windlass.core.shell.steps import TooLong
from windlass.core.shell.values import MOST, braced

FILE_TOOLS = {
    "Read": "file_path",
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "Glob": "path",
    "Grep": "path",
    "LS": "path",
}
"""Which of its inputs says where a tool works; those with `path` work in the folder by default."""
READING = frozenset(("Read", "Glob", "Grep", "LS"))
"""File tools that change nothing."""

_PATHS = ("file_path", "notebook_path", "path")
_LONGEST = 4096
_WILD = re.compile(r"[*?\[\]{}]")

Verdict = Literal["allow", "deny", "ask"]


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool, as a hook tells of it before it happens."""

    tool: str
    input: dict[str, Any]
    cwd: str


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided and why; `ask` leaves it to a person. `rule` is what decided."""

    verdict: Verdict
    reason: str
    rule: str
    line: str = ""
    """The shell line to run instead of the one that was asked about; empty: that one."""
    patterns: tuple[str, ...] = ()
    """What a person would allow to have a call that was denied."""


class Unclear(Exception):
    """A call does not say plainly what it reaches."""


def read(event: Mapping[str, Any]) -> ToolCall | None:
    """Reads a hook's input; None when it tells of no call."""
    tool, arguments, cwd = event.get("tool_name"), event.get("tool_input"), event.get("cwd")
    if not isinstance(tool, str) or not isinstance(arguments, dict) or not isinstance(cwd, str):
        return None
    if not tool or not cwd.startswith("/") or len(cwd) > _LONGEST:
        return None
    return ToolCall(tool=tool, input=arguments, cwd=cwd)


def paths(call: ToolCall) -> list[str]:
    """Every path that a call of a file tool reaches, absolute; Unclear when it hides one."""
    named = [call.input[key] for key in _PATHS if call.input.get(key) is not None]
    if not named and FILE_TOOLS.get(call.tool, "path") != "path":
        raise Unclear(f"{call.tool} names no path")
    if "" in named:
        raise Unclear(f"{call.tool} names an empty path")
    reached = [_joined(call.cwd, path) for path in named] or [call.cwd]
    if call.tool == "Glob":
        wanted = _alternatives(call.input.get("pattern"))
        return [_reach(base, alternative) for base in reached for alternative in wanted]
    # Grep's only sorts out what is found below, and a root in front of it is that of the search.
    sorting = call.input.get("glob") if call.tool == "Grep" else None
    if sorting is not None and any(
        ".." in alternative.split("/") for alternative in _alternatives(sorting)
    ):
        raise Unclear("the pattern leaves its folder")
    return reached


def _joined(base: str, path: object) -> str:
    # Agent CLIs expand ~ and trim; what we looked at would not be what is opened.
    if not isinstance(path, str) or path != path.strip().strip("\ufeff") or path[:1] == "~":
        raise Unclear("write the path out, without ~ or spaces around it")
    if path[:1] == "$" or path[:5].lower() == "file:" or len(path) > _LONGEST:
        raise Unclear("write the path out, as a plain one")
    if not path.isprintable():
        raise Unclear("the path holds control characters")
    return posixpath.join(base, path)


def _alternatives(pattern: object) -> list[str]:
    """What a glob means with its braces written out: `{..,x}/*` is two, and one leaves."""
    if not isinstance(pattern, str) or len(pattern) > _LONGEST:
        raise Unclear("the pattern cannot be read")
    try:
        alternatives = sorted(braced(pattern.replace("{..}", "..")))
    except TooLong as reason:
        raise Unclear(f"the pattern cannot be judged: {reason}") from None
    if len(alternatives) > MOST:
        raise Unclear("the pattern has too many alternatives; write fewer")
    return alternatives


def _reach(base: str, pattern: str) -> str:
    """Where a glob starts to look: its folders up to the first wild one."""
    parts = pattern.split("/")
    tame = next((n for n, part in enumerate(parts) if _WILD.search(part)), len(parts))
    if ".." in parts[tame:]:
        raise Unclear("the pattern leaves its folder")
    return _joined(base, "/".join(parts[:tame]) or ("/" if pattern[:1] == "/" else ""))
