"""What a request to the model says: who asks, what kind of request it is, what was said so far.

The one place that knows how Claude Code packs things: which texts are people's words, which are
added by hooks, and which are packaging that nobody said. Measured on 2.1.197.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

Kind: TypeAlias = Literal["main", "side", "compact", "subagent"]

COMPACTING = "Your task is to create a detailed summary of"
SUMMARISED = "This session is being continued from a previous conversation"
INTERRUPTED = "[Request interrupted by user"
PACKAGING = (
    SUMMARISED,
    "<local-command-",
    "<command-name>",
    "<command-message>",
    "[Your previous response had no visible output.",
)
_REMINDER = re.compile(r"\s*<system-reminder>\n?(.*?)\n?</system-reminder>\s*", re.DOTALL)
# In a system text the parts stand one after another; the rest of it is packaging.
WOKEN = "<summary>Stop hook feedback</summary>"
_PARTS = re.compile(
    r"""
    ^(?:The\ user|The\ coordinator|Another\ Claude\ session)\ sent\ a\ (?:new\ )?message\ while
        \ you\ were\ working:\n
        (?P<message>.*?)
        (?:\n+IMPORTANT:\ After\ completing\ your\ current\ task.*?Do\ not\ ignore\ it\.|\Z)
    | ^\[SYSTEM\ NOTIFICATION[^\n]*\n.*?(?P<task><task-notification>.*?</task-notification>)
    | ^(?P<event>\w+)(?::[^\n]*?)?\ hook\ (?:additional\ context|blocking\ error\ from\ command)
        (?P<context>.*?)
        (?=\n+(?:The\ user\ sent\ a\ new\ message|\[SYSTEM\ NOTIFICATION
            |\w+(?::\S+)?\ hook\ (?:additional|blocking)
            |Available\ agent\ types\ for|The\ following\ (?:skills|MCP)|\#\ MCP)|\Z)
    """,
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_AGENT = re.compile(r"\bWINDLASS_AGENT=([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)")


class Malformed(Exception):
    """The request is not what the Messages API takes."""


class Item(NamedTuple):
    """One thing in a conversation; tool results and calls carry the call's id."""

    kind: Literal["message", "context", "result", "interrupt", "assistant"]
    text: str
    id: str = ""
    error: bool = False


class Asked(msgspec.Struct, frozen=True):
    """A request, understood. `subagent` is the id of a subagent, `agent` our own agent's."""

    kind: Kind
    session: str
    subagent: str
    agent: str
    model: str
    stream: bool
    items: tuple[Item, ...]
    schema: dict[str, Any] | None = None


def read(body: bytes, headers: Mapping[str, str]) -> Asked:
    """Understands the body of a request; `headers` has lower-case names."""
    data = decoded(body)
    messages = data.get("messages")
    if not isinstance(messages, list) or not all(isinstance(item, dict) for item in messages):
        raise Malformed("messages: a list of messages is required")
    if not messages:
        raise Malformed("messages: at least one message is required")
    subagent = headers.get("x-claude-code-agent-id", "")
    return Asked(
        kind=_kind(data, messages, subagent),
        session=headers.get("x-claude-code-session-id", ""),
        subagent=subagent,
        agent=headers.get("x-windlass-agent") or _agent(data.get("system")),
        model=str(data.get("model") or "model"),
        stream=data.get("stream") is True,
        items=tuple(item for message in messages for item in _items(message)),
        schema=_schema(data),
    )


def decoded(body: bytes) -> dict[str, Any]:
    """Decodes a body that has to be a JSON object."""
    try:
        data = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(f"the body is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise Malformed("the body is not a JSON object")
    return data


def _kind(data: dict[str, Any], messages: list[dict[str, Any]], subagent: str) -> Kind:
    """Titles and the like bring no tools; a compaction asks for a summary with its last words."""
    asked = [message for message in messages if message.get("role") == "user"]
    if asked and any(COMPACTING in text for text in _texts(asked[-1].get("content"))[-1:]):
        return "compact"
    if not data.get("tools"):
        return "side"
    return "subagent" if subagent else "main"


def _items(message: dict[str, Any]) -> Iterator[Item]:
    role, content = message.get("role"), message.get("content")
    for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        if not isinstance(block, dict):
            continue
        text = block.get("text")
        if role == "assistant":
            if isinstance(text, str) or block.get("type") == "tool_use":
                yield Item("assistant", str(text or "").strip(), str(block.get("id") or ""))
        elif block.get("type") == "tool_result":
            result = "\n".join(_texts(block.get("content")))
            call_id = str(block.get("tool_use_id") or "")
            yield Item("result", result, call_id, error=block.get("is_error") is True)
        elif isinstance(text, str):
            yield from _parts(text) if role == "system" else _said(text)


def _said(text: str) -> Iterator[Item]:
    """Reads one text of the user's side; where more follows, the program adds a newline to it."""
    words = text.removesuffix("\n")
    reminder = _REMINDER.fullmatch(text)
    if reminder:
        yield from _parts(reminder[1])
    elif words.startswith(INTERRUPTED):
        yield Item("interrupt", words)
    elif words.strip() and not words.lstrip().startswith(PACKAGING):
        yield Item("message", words)


def _parts(text: str) -> Iterator[Item]:
    """Finds what people and hooks said in a text of the program's own."""
    for part in _PARTS.finditer(text):
        if part["task"] is not None and WOKEN in part["task"]:
            continue  # what the hook said stands beside it
        if part["event"] is None:
            yield Item("message", part["message"] if part["task"] is None else part["task"])
        elif part["event"] != "SessionStart":
            yield Item("context", part["context"].lstrip(": ").rstrip())


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    blocks = content if isinstance(content, list) else []
    return [
        block["text"]
        for block in blocks
        if isinstance(block, dict) and isinstance(block.get("text"), str)
    ]


def _agent(system: Any) -> str:
    named = _AGENT.search("\n".join(_texts(system)))
    return named[1] if named else ""


def _schema(data: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the JSON Schema that the answer has to follow, if one is asked for."""
    config = data.get("output_config")
    wanted = config.get("format") if isinstance(config, dict) else None
    schema = wanted.get("schema") if isinstance(wanted, dict) else None
    return schema if isinstance(schema, dict) else None
