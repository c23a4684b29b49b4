"""What a conversation tells of messages: which arrived, which were answered, which went missing.

Pure: lines of a transcript, as Claude Code and the stand-in write them. What counts is what the
model is shown: prompts, what is put between two calls of tools, and context that hooks add. That
a text was put into a queue, or printed by a hook, says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from windlass.core.mail import messages

_SHOWN = {"queued_command": "prompt", "hook_additional_context": "content"}


class Told(NamedTuple):
    """One whole line of a conversation, as far as it matters here; `end` is where it ends."""

    end: int
    ids: tuple[str, ...] = ()
    answers: bool = False
    result_of: tuple[str, ...] = ()


def read(lines: Iterable[bytes], start: int) -> list[Told]:
    """Reads whole lines that begin at an offset."""
    found = []
    for line in lines:
        start += len(line) + 1
        found.append(_read(line, start))
    return found


def _read(line: bytes, end: int) -> Told:
    try:
        data = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Told(end)
    if not isinstance(data, dict) or data.get("isSidechain") is True:
        return Told(end)
    kind = data.get("type")
    if kind == "attachment":
        return Told(end, ids=_ids(_attached(data.get("attachment"))))
    message = data.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if kind == "user":
        return Told(end, ids=_ids(_texts(content)), result_of=_results(content))
    if kind == "assistant":
        real = isinstance(message, dict) and message.get("model") != "<synthetic>"
        return Told(end, answers=real and data.get("isApiErrorMessage") is not True)
    return Told(end)


def _attached(attachment: Any) -> list[str]:
    if not isinstance(attachment, dict):
        return []
    name = _SHOWN.get(str(attachment.get("type")))
    return _texts(attachment.get(name)) if name else []


def _texts(content: Any) -> list[str]:
    """Texts, but not what tools gave: an agent may well print a message that it has not had."""
    if isinstance(content, str):
        return [content]
    found = []
    for block in content if isinstance(content, list) else []:
        if isinstance(block, str):
            found.append(block)
        elif isinstance(block, dict) and block.get("type") == "text":
            found.append(str(block.get("text", "")))
    return found


def _ids(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(one for text in texts for one in messages.mentioned(text))


def _results(content: Any) -> tuple[str, ...]:
    return tuple(
        str(block.get("tool_use_id"))
        for block in (content if isinstance(content, list) else [])
        if isinstance(block, dict) and block.get("type") == "tool_result"
    )
