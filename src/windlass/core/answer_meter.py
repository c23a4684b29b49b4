"""What an answer of the model used, read from the answer itself while it passes by.

Pure, and forgiving: an answer goes to somebody else, and what makes no sense here says nothing. An
answer that breaks off never says how much it was, so what it has said until then is reckoned by
its length.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from windlass.core.claude import usage as claude_usage
from windlass.core.usage import UNKNOWN_MODEL, Usage

BYTES_A_TOKEN = 4
"""About as long is a token of text or code."""
_LONGEST = 4 << 20
"""Of a line of a stream, or of an answer in one piece: far more than a model says at once."""
_SPOKEN = ("text", "thinking", "partial_json")


class AnswerMeter:
    """Reads one answer of the Messages API as it arrives, streamed or in one piece."""

    def __init__(self, *, streamed: bool) -> None:
        self.model = UNKNOWN_MODEL
        self.begun = False
        """Whether it was said what the question used: in a stream that comes first."""
        self._streamed = streamed
        self._held = b""
        self._is_overlong = False
        self._usage: dict[str, Any] = {}
        self._spoken = 0
        self._ended = False

    def feed(self, data: bytes) -> None:
        """Takes in the next piece."""
        self._held += data
        if not self._streamed:
            if len(self._held) > _LONGEST:
                self._spoken, self._held, self._is_overlong = len(data), b"", True
            return
        *lines, self._held = self._held.split(b"\n")
        for line in lines:
            if self._is_overlong:
                self._is_overlong = False
                continue
            self._take(line)
        if len(self._held) > _LONGEST:
            self._spoken += len(self._held)
            self._held, self._is_overlong = b"", True

    def close(self) -> None:
        """Takes it that nothing more comes."""
        if not self._streamed:
            answer = _object(self._held)
            self._name(answer)
            self._count(answer)
            self._ended = self.begun

    def used(self) -> Usage:
        """What was used so far; of what was not stated, about as much as was said."""
        known = claude_usage.from_answer(self._usage)
        if self._ended:
            return known
        spoken = -(-self._spoken // BYTES_A_TOKEN)
        return msgspec.structs.replace(known, output_tokens=max(known.output_tokens, spoken))

    def _take(self, line: bytes) -> None:
        if not line.startswith(b"data:"):
            return
        event = _object(line[5:])
        match event.get("type"):
            case "message_start":
                message = _mapping(event.get("message"))
                self._name(message)
                self._count(message)
            case "content_block_delta":
                delta = _mapping(event.get("delta"))
                said = (delta.get(name) for name in _SPOKEN)
                self._spoken += sum(len(text.encode()) for text in said if isinstance(text, str))
            case "message_delta":
                self._count(event)
                self._ended = True
            case _:
                pass

    def _name(self, message: Mapping[str, Any]) -> None:
        self.model = claude_usage.canonical(message.get("model"))

    def _count(self, of: Mapping[str, Any]) -> None:
        """Later numbers stand in place of earlier ones: they are sums since the beginning."""
        stated = of.get("usage")
        if isinstance(stated, Mapping):
            self.begun = True
            self._usage |= {name: value for name, value in stated.items() if value is not None}


def _object(text: bytes) -> Mapping[str, Any]:
    try:
        return _mapping(msgspec.json.decode(text))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
