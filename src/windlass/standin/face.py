"""What a conversation needs of whoever shows it, and the words they share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from windlass.core.script.format import TOKEN_KINDS, ApiError
from windlass.standin.files import ToolResult

Origin = Literal["prompt", "task", "rewake"]


class Interrupted(Exception):
    """The person stopped the turn."""


class Ended(Exception):
    """The session is over: with this exit code, for this reason."""

    def __init__(self, code: int, reason: str = "other") -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason


class UserMessage(msgspec.Struct):
    """Something that came in: what was said, and how it looks where it is long."""

    text: str
    origin: Origin = "prompt"
    shown: str = ""
    uuid: str | None = None
    content: list[dict[str, Any]] | None = None

    def said(self) -> str | list[dict[str, Any]]:
        """Returns what the transcript keeps: the blocks if it came in blocks, else the text."""
        return self.text if self.content is None else self.content


class HookedCall(msgspec.Struct):
    """One call of a tool, with what hooks added to it."""

    id: str
    tool: str
    input: dict[str, Any]
    contexts: list[str] = []


class Answer(msgspec.Struct):
    """What was answered to a request for permission; None means that nobody could be asked.

    `ends_turn` makes a no the end of the turn, as a person's no in the dialog is.
    """

    allowed: bool | None
    message: str = ""
    updated_input: dict[str, Any] | None = None
    always: bool = False
    ends_turn: bool = False


Hooked: TypeAlias = Callable[[], Answer | None]


def no_tokens() -> dict[str, int]:
    """Returns an empty account of tokens."""
    return dict.fromkeys(TOKEN_KINDS, 0)


class Limit(Exception):
    """The session may not ask the model again: the result's subtype and words say why."""

    def __init__(self, subtype: str, words: str) -> None:
        super().__init__(subtype, words)
        self.subtype = subtype
        self.words = words


class Turn(msgspec.Struct):
    """What a turn came to.

    `rounds` counts replies of the model, `answered` what it was told after the prompt.
    """

    text: str = ""
    subtype: str = "success"
    is_error: bool = False
    api_error_status: int | None = None
    errors: list[str] = []
    begun: bool = False
    interrupted: bool = False
    stop_reason: str | None = None
    rounds: int = 0
    answered: int = 0
    usage: dict[str, int] = msgspec.field(default_factory=no_tokens)
    denials: list[dict[str, Any]] = []
    terminal_reason: str | None = None
    duration_ms: int = 0
    origin: Origin = "prompt"


class Face(Protocol):
    """Shows a conversation and asks for permissions."""

    live: bool

    def begun(self, prompt: UserMessage) -> None:
        """A message starts a turn."""

    def slipped_in(self, message: UserMessage) -> None:
        """A message was taken in the middle of a turn."""

    def said(self, block: dict[str, Any], line: dict[str, Any]) -> None:
        """The model produced a block of content."""

    def acted(self, call: HookedCall, result: ToolResult, line: dict[str, Any]) -> None:
        """A tool gave its result."""

    def retrying(self, error: ApiError, attempt: int) -> None:
        """The model cannot be reached for a while."""

    def noted(self, text: str) -> None:
        """Something happened that a person should see."""

    def interjected(self, line: dict[str, Any]) -> None:
        """The program said something to the model in the user's name."""

    def ask(self, call: HookedCall, suggestions: list[dict[str, Any]], hooks: Hooked) -> Answer:
        """Asks whether a tool may run; the hooks of the event may answer instead."""

    def finished(self, turn: Turn) -> None:
        """The turn is over."""
