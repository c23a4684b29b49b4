"""Whether a tool may run without asking: rules and modes. Pure.

A rule is `Tool` or `Tool(content)`. For Bash the content is a command, `prefix:*`, or a pattern
with `*`, and every simple command of a line must be allowed; for file tools it is a path pattern.
Simpler than the real parser on purpose: quoting is not understood, so a line with `;` in a string
asks once too often, never once too seldom.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

import msgspec

Verdict = Literal["allow", "deny", "ask"]

READING = frozenset({"Read", "Glob", "Grep", "LS", "TodoWrite"})
EDITING = frozenset({"Write", "Edit", "MultiEdit"})
_RULE = re.compile(r"(?P<tool>[^()\s]+)(?:\((?P<content>.*)\))?", re.DOTALL)
_JOINTS = re.compile(r"&&|\|\||[;|&\n]")
_HIDDEN = re.compile(r"\$\(|`|<\(|>\(")


class PermissionRules(msgspec.Struct):
    """The rules of a session; answers "always" add to `allow` while it runs."""

    mode: str = "default"
    allow: list[str] = []
    deny: list[str] = []
    ask: list[str] = []


def decide(rules: PermissionRules, tool: str, tool_input: dict[str, Any]) -> Verdict:
    """Says what the rules make of a call; hooks have spoken before."""
    if any(matches(rule, tool, tool_input, every=False) for rule in rules.deny):
        return "deny"
    if rules.mode == "bypassPermissions":
        return "allow"
    if any(matches(rule, tool, tool_input, every=False) for rule in rules.ask):
        return "ask"
    if _allowed(rules.allow, tool, tool_input):
        return "allow"
    if tool in READING or (tool in EDITING and rules.mode == "acceptEdits"):
        return "allow"
    return "deny" if rules.mode == "dontAsk" else "ask"


def matches(rule: str, tool: str, tool_input: dict[str, Any], *, every: bool = True) -> bool:
    """Says whether one rule covers a call: every simple command of a line, or any of them."""
    parsed = _RULE.fullmatch(rule.strip())
    if not parsed or not fnmatchcase(tool, parsed["tool"]):
        return False
    content = parsed["content"]
    if content is None or content in {"", "*", ":*"}:
        return True
    if tool == "Bash":
        commands = _commands(str(tool_input.get("command", "")))
        covered = [_command_matches(content, command) for command in commands]
        return bool(covered) and (all(covered) if every else any(covered))
    path = str(tool_input.get("file_path", tool_input.get("path", "")))
    return fnmatchcase(path, content) or fnmatchcase(path, f"*/{content.lstrip('./')}")


def _allowed(rules: Sequence[str], tool: str, tool_input: dict[str, Any]) -> bool:
    if tool != "Bash":
        return any(matches(rule, tool, tool_input) for rule in rules)
    line = str(tool_input.get("command", ""))
    if _HIDDEN.search(line):
        return any(matches(rule, tool, {"command": ""}) for rule in rules)
    commands = _commands(line)
    return bool(commands) and all(
        any(matches(rule, tool, {"command": command}) for rule in rules) for command in commands
    )


def _commands(line: str) -> list[str]:
    return [part.strip() for part in _JOINTS.split(line) if part.strip()]


def _command_matches(content: str, command: str) -> bool:
    if content.endswith(":*"):
        prefix = content[:-2]
        return command == prefix or command.startswith(prefix + " ")
    return fnmatchcase(command, content) or (
        content.endswith(" *") and command == content[:-2].rstrip()
    )
