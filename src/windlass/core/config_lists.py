"""Lists of configuration whose words have a form: tool patterns and host names.

A word that means nothing is refused where it is written down, because later it would only be
missed: nothing is allowed by it, and nobody is told. What a pattern means is `policy`'s, what a
host name means the proxy's.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from windlass.core.policy.tool_calls import FILE_TOOLS

_TOOL = re.compile(r"[A-Za-z0-9_.-]+\*?|\*")
_WITH_CONTENT = frozenset(
    (*FILE_TOOLS, "Bash", "WebFetch", "WebSearch", "Skill", "Agent", "Task"),
)
_HOST = re.compile(r"(\*\.)?((?:[a-z0-9_-]+\.)*[a-z0-9_-]+)(?::([0-9]{1,5})|\.)?", re.IGNORECASE)
_LAST_PORT = 65535


class Form(NamedTuple):
    """How the words of a list look: what is wrong with one (nothing if it is right), and how to."""

    problem: Callable[[str], str]
    hint: str


def pattern_problem(text: str) -> str:
    """Says why a tool pattern could mean no call."""
    name, opened, rest = text.strip().partition("(")
    if not name:
        return "names no tool"
    if not _TOOL.fullmatch(name):
        return f"is no pattern: {name!r} is no tool's name (a * may end one)"
    if not opened:
        return ""
    if not rest.endswith(")"):
        return "is no pattern: its parenthesis is not closed"
    if name not in _WITH_CONTENT:
        return f"means nothing: {name} takes nothing in parentheses"
    return _content_problem(name, rest[:-1].strip())


def domain_problem(text: str) -> str:
    """Says why the proxy could let nothing through for a host name."""
    if text == "*":
        return "would be every host, which is what network = host is for"
    if "/" in text:
        return "is an address, where a host name is wanted"
    parts = _HOST.fullmatch(text)
    if parts is None:
        return "is no host name"
    below, host, port = parts.groups()
    last = host.rpartition(".")[2].lower()
    if last.isdigit() or last.startswith("0x"):
        return "is a number, and only names are let through"
    if port is None:
        return ""
    if not 0 < int(port) <= _LAST_PORT:
        return f"has no port {port}"
    return "has a port, which only a whole name can have" if below else ""


def _content_problem(name: str, content: str) -> str:
    if not content:
        return "is no pattern: nothing stands in its parentheses"
    if name == "Bash" and not content.removesuffix(":*").removesuffix("*").strip():
        return "names no command; Bash alone means every line"
    if name == "WebFetch" and not content.startswith("domain:") and "://" not in content:
        return f"means nothing: write WebFetch(domain:{content})"
    return ""


PATTERN = Form(
    pattern_problem,
    "write it as in Read, Bash(npm test:*), Edit(src/**), WebFetch(domain:example.com), mcp__a__*",
)
DOMAIN = Form(
    domain_problem, "write it as in docs.example.com, *.example.com, git.example.com:8443"
)


def form(key: str) -> Form | None:
    """How the words of a list look; None where anything may stand in it."""
    if key == "box.domains":
        return DOMAIN
    return PATTERN if key.startswith("permissions.") else None
