"""What a conversation tells of messages: which arrived, which were answered, which went missing.

Pure: lines of a transcript, as Claude Code and the stand-in write them. What counts is what the
model is shown: prompts, what is put between two calls of tools, and context that hooks add. That
a text was put into a queue, or printed by a hook, says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from windlass.core import agents_json
from windlass.core.dialect import TranscriptLine
from windlass.core.mail import messages

_SHOWN = {"queued_command": "prompt", "hook_additional_context": "content"}


def read(lines: Iterable[bytes], start: int) -> list[TranscriptLine]:
    """Reads whole lines that begin at an offset."""
    read_lines = []
    for line in lines:
        start += len(line) + 1
        read_lines.append(_read(line, start))
    return read_lines


def is_message(line: bytes) -> bool:
    """Whether a line is what somebody said: a conversation without one cannot be resumed."""
    try:
        data = agents_json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(data, dict) and data.get("type") in ("user", "assistant")


def file_name(cwd: str, session_id: str) -> str:
    """Returns where, under its configuration folder, a session keeps its conversation.

    `cwd` must be canonical: the CLI names the folder after the real path.
    """
    return f"projects/{re.sub(r'[^A-Za-z0-9]', '-', cwd)}/{session_id}.jsonl"


def _read(line: bytes, end: int) -> TranscriptLine:
    try:
        data = agents_json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return TranscriptLine(end)
    if not isinstance(data, dict) or data.get("isSidechain") is True:
        return TranscriptLine(end)
    kind = data.get("type")
    if kind == "attachment":
        return TranscriptLine(end, ids=_ids(_attached(data.get("attachment"))))
    message = data.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if kind == "user":
        return TranscriptLine(end, ids=_ids(_texts(content)), result_of=_results(content))
    if kind == "assistant":
        real = isinstance(message, dict) and message.get("model") != "<synthetic>"
        return TranscriptLine(end, answers=real and data.get("isApiErrorMessage") is not True)
    return TranscriptLine(end)


def _attached(attachment: Any) -> list[str]:
    if not isinstance(attachment, dict):
        return []
    name = _SHOWN.get(str(attachment.get("type")))
    return _texts(attachment.get(name)) if name else []


def _texts(content: Any) -> list[str]:
    """Texts, but not what tools gave: an agent may well print a message that it has not had."""
    if isinstance(content, str):
        return [content]
    texts = []
    for block in content if isinstance(content, list) else []:
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, dict) and block.get("type") == "text":
            texts.append(str(block.get("text", "")))
    return texts


def _ids(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for text in texts for name in messages.mentioned(text))


def _results(content: Any) -> tuple[str, ...]:
    return tuple(
        str(block.get("tool_use_id"))
        for block in (content if isinstance(content, list) else [])
        if isinstance(block, dict) and block.get("type") == "tool_result"
    )
