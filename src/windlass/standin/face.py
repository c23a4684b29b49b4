"""What a conversation needs of whoever shows it, and the words they share."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import msgspec

from windlass.core.script import TOKEN_KINDS, ApiError
from windlass.standin.files import Result

Origin = Literal["prompt", "task", "rewake"]


class Interrupted(Exception):
    """The person stopped the turn."""


class Ended(Exception):
    """The session is over: with this exit code, for this reason."""

    def __init__(self, code: int, reason: str = "other") -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason


class Message(msgspec.Struct):
    """Something that came in: what was said, and how it looks where it is long."""

    text: str
    origin: Origin = "prompt"
    shown: str = ""
    uuid: str | None = None


class Call(msgspec.Struct):
    """One call of a tool, with what hooks added to it."""

    id: str
    tool: str
    input: dict[str, Any]
    contexts: list[str] = []


class Answer(msgspec.Struct):
    """What was answered to a request for permission; None means that nobody could be asked."""

    allowed: bool | None
    message: str = ""
    updated_input: dict[str, Any] | None = None
    always: bool = False


def no_tokens() -> dict[str, int]:
    """Returns an empty account of tokens."""
    return dict.fromkeys(TOKEN_KINDS, 0)


class Turn(msgspec.Struct):
    """What a turn came to."""

    text: str = ""
    subtype: str = "success"
    is_error: bool = False
    api_error_status: int | None = None
    rounds: int = 0
    usage: dict[str, int] = msgspec.field(default_factory=no_tokens)
    denials: list[dict[str, Any]] = []
    terminal_reason: str = "completed"
    duration_ms: int = 0
    origin: Origin = "prompt"


class Face(Protocol):
    """Shows a conversation and asks for permissions."""

    live: bool

    def begun(self, prompt: Message) -> None:
        """A message starts a turn."""

    def slipped_in(self, message: Message) -> None:
        """A message was taken in the middle of a turn."""

    def said(self, block: dict[str, Any], line: dict[str, Any]) -> None:
        """The model produced a block of content."""

    def acted(self, call: Call, result: Result, line: dict[str, Any]) -> None:
        """A tool gave its result."""

    def retrying(self, error: ApiError) -> None:
        """The model cannot be reached for a while."""

    def noted(self, text: str) -> None:
        """Something happened that a person should see."""

    def ask(self, call: Call, suggestions: list[dict[str, Any]]) -> Answer:
        """Asks whether a tool may run."""

    def finished(self, turn: Turn) -> None:
        """The turn is over."""
