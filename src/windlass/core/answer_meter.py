"""What an answer of the model used, read from the answer itself while it passes by.

Pure, and forgiving: an answer goes to somebody else, and what makes no sense here raises nothing.
But nothing of it is free: what an answer does not say that it used is reckoned by its length, and
`flaw` says where that was not the model's own doing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from windlass.core import agents_json
from windlass.core.claude import usage as claude_usage
from windlass.core.usage import MOST_OUTPUT, UNKNOWN_MODEL, Usage

BYTES_A_TOKEN = 3
"""A token of text or code is rather longer, one of another script or of what is encoded is not."""
LONGEST = 48 << 20
"""Of a line of a stream, or of an answer in one piece: far more than a model says at once, and than
the tools that it has by itself find for it."""
_LONGEST_USAGE = 1 << 20
"""Of what an answer says that it used."""
_THINKING = ("thinking", "redacted_thinking")
_NOT_SAID = frozenset({"type", "id", "name", "tool_use_id"})
"""Of a part of an answer: what it is, and to what it belongs."""
_FOUND = "_tool_result"
"""How parts are called that a tool has said, and not the model."""


_UNSAID = "it does not say what it used"
_NOTHING = msgspec.Raw(b"null")
_Shape = TypeVar("_Shape")


class _Answer(msgspec.Struct):
    """What is looked at of an answer, or of its beginning; the rest is passed over, unmade."""

    model: msgspec.Raw = _NOTHING
    usage: msgspec.Raw = _NOTHING


class _Event(msgspec.Struct):
    """What is looked at of an event of a stream."""

    type: str = ""
    message: _Answer = msgspec.field(default_factory=_Answer)
    usage: msgspec.Raw = _NOTHING
    delta: msgspec.Raw = _NOTHING
    content_block: msgspec.Raw = _NOTHING


class _Part(msgspec.Struct):
    """What is looked at first of a part of an answer, which may be large."""

    type: str = ""


class AnswerMeter:
    """Reads one answer of the Messages API as it arrives, streamed or in one piece."""

    def __init__(self, *, streamed: bool) -> None:
        self.model = UNKNOWN_MODEL
        self.begun = False
        """Whether it was said what the question used: in a stream that comes first."""
        self.is_thinking = False
        """Whether the model is at a thought, of which nothing may be seen before its end."""
        self.has_thought = False
        """Whether it was at any: how long those were, only the end of the answer tells."""
        self.is_too_long = False
        """Whether it goes on where it can be counted no more; it should be cut off."""
        self._streamed = streamed
        self._held = bytearray()
        self._usage: dict[str, Any] = {}
        self._stated: Mapping[str, Usage] = {}
        self._spoken = 0
        self._ended = False
        self._flaw = ""

    @property
    def ended(self) -> bool:
        """Whether it has said what all of it used."""
        return self._ended

    @property
    def flaw(self) -> str:
        """Why it had to be reckoned by its length, or is not known at all, though it was said."""
        if self._ended:
            return ""
        return self._flaw or ("it broke off in the middle of a thought" * self.is_thinking)

    def feed(self, data: bytes) -> None:
        """Takes in the next piece."""
        if self.is_too_long:
            self._spoken += len(data)
            return
        # Looked for in what is new alone: whoever sends a byte at a time is not read all anew.
        whole = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1 if self._streamed else 0
        self._held += data[:whole]
        if whole:
            lines = self._held.splitlines()
            self._held = bytearray()
            for line in lines:
                self._take(line)
        self._held += data[whole:]
        if len(self._held) > LONGEST:
            self._reckon(len(self._held), f"more than {LONGEST >> 20} MiB of it came in one piece")
            self._held, self.is_too_long = bytearray(), True

    def close(self) -> None:
        """Takes it that nothing more comes."""
        held, self._held = self._held, bytearray()
        if self._streamed:
            self._take(held)
            if self._spoken and not self.begun:
                self._reckon(0, _UNSAID)
        elif held:
            answer = _read(held, _Answer)
            if answer is not None:
                self._name(answer)
                self._ended = self._count(answer.usage)
            if not self._ended:
                self._reckon(len(held), _UNSAID)

    def used(self) -> Mapping[str, Usage]:
        """What was used so far, by model; of what was not stated, about as much as was said."""
        if self._ended or not self._spoken:
            return self._stated
        spoken = min(MOST_OUTPUT, -(-self._spoken // BYTES_A_TOKEN))
        own = self._stated.get(self.model, Usage())
        own = msgspec.structs.replace(own, output_tokens=max(own.output_tokens, spoken))
        return {**self._stated, self.model: own}

    def _take(self, line: bytearray) -> None:
        said = line[5:].strip() if line.startswith(b"data:") else b""
        if not said:
            return
        event = _read(said, _Event)
        if event is None:
            self._reckon(len(said), "a line of it makes no sense")
            return
        match event.type:
            case "message_start":
                self._name(event.message)
                self._count(event.message.usage)
            case "content_block_start":
                self._begin(event.content_block)
            case "content_block_delta":
                self._hear(event.delta)
            case "content_block_stop":
                self.is_thinking = False
            case "message_delta":
                self._ended = self._count(event.usage)
            case _:
                pass

    def _begin(self, part: msgspec.Raw) -> None:
        kind = (_read(part, _Part) or _Part()).type
        self.is_thinking = kind in _THINKING
        self.has_thought |= self.is_thinking
        if not kind.endswith(_FOUND):
            self._hear(part)

    def _hear(self, part: msgspec.Raw) -> None:
        """Adds up whatever is said, seen or hidden: text, thoughts, what they are sealed with."""
        values = _object(part)
        if values is None:
            self._reckon(len(bytes(part)), "a part of it makes no sense")
            return
        said = (value for name, value in values.items() if name not in _NOT_SAID)
        self._spoken += sum(len(text.encode()) for text in said if isinstance(text, str))

    def _name(self, answer: _Answer) -> None:
        self.model = claude_usage.canonical(_short(answer.model))

    def _count(self, said: msgspec.Raw) -> bool:
        """Takes in what is stated; whether that has how much was said.

        Later numbers stand in place of earlier ones: they are sums since the beginning.
        """
        usage = _short(said)
        if not isinstance(usage, Mapping) or not usage:
            return False
        self.begun = True
        self._usage |= {name: value for name, value in usage.items() if value is not None}
        self._stated, flaw = claude_usage.from_answer(self._usage, self.model)
        self._flaw = self._flaw or flaw
        return usage.get("output_tokens") is not None and not flaw

    def _reckon(self, size: int, flaw: str) -> None:
        self._spoken += size
        self._flaw = self._flaw or flaw


def _read(text: bytes | bytearray | msgspec.Raw, shape: type[_Shape]) -> _Shape | None:
    try:
        return msgspec.json.decode(text, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _object(text: msgspec.Raw) -> Mapping[str, Any] | None:
    try:
        value = agents_json.decode(bytes(text))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, Mapping) else None


def _short(text: msgspec.Raw) -> Any:
    """Reads a value that nobody has a reason to make long; None for one that is."""
    try:
        return agents_json.decode(bytes(text)) if len(bytes(text)) <= _LONGEST_USAGE else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
