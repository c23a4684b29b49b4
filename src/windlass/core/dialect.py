"""How one agent CLI speaks, behind one Protocol: what it says and how it is answered.

A driver offers its dialect; the daemon reads hooks, output, conversations and screens through it,
and answers in it. All of it is pure and total: whatever a session wrote, a reader returns something
and never raises. Tools have the names of Claude Code's, because people write them into policies: a
dialect of other tools translates their calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

import msgspec

from windlass.core.events import TurnEnded
from windlass.core.policy.tool_calls import Decision, ToolCall
from windlass.core.states import Observation, State
from windlass.core.usage import CountedMessage, UsageReport
from windlass.core.usage_windows import UsageWindow


class LineKind(StrEnum):
    """What a line of a headless session's output is to us."""

    BEGINNING = "beginning"
    """A turn begins."""
    REQUEST = "request"
    """The session waits for our answer."""
    RETRY = "retry"
    """The model refused, and is asked again."""
    RESULT = "result"
    """A turn has ended."""
    OTHER = "other"


class HookMoment(StrEnum):
    """What a hook of a session tells of, whatever its CLI calls that."""

    SESSION_START = "session_start"
    """A session has started, or goes on in another conversation."""
    PROMPT = "prompt"
    """A prompt was taken."""
    TOOL_CALL = "tool_call"
    """A tool is about to be used."""
    PERMISSION = "permission"
    """A person would be asked whether a tool may be used."""
    TURN_END = "turn_end"
    """A turn has ended, and what was said last is known."""
    OTHER = "other"


class HookAnswer(NamedTuple):
    """What was answered to a hook: the hook, by its CLI's name, and the reason that it got."""

    hook: Any
    reason: Any


class TranscriptLine(NamedTuple):
    """One whole line of a conversation, as far as it concerns messages; `end` is where it ends.

    `ids` are the messages that the model is shown there, `answers` is true where the model speaks,
    and `result_of` are the tool calls that are over.
    """

    end: int
    ids: tuple[str, ...] = ()
    answers: bool = False
    result_of: tuple[str, ...] = ()


class ScreenReading(msgspec.Struct, frozen=True, kw_only=True):
    """What a screen shows now, the rule that says so, and the lines that decided."""

    state: State
    rule: str
    evidence: str
    dialog: str | None = None
    """The kind of dialog that is open."""
    draft: str | None = None
    """What stands in the prompt box: empty when nothing does, None without a box."""
    queued: bool = False
    """Whether prompts wait for the present turn to end."""
    retry_after: int | None = None
    """Seconds until the program tries again by itself."""
    window: str = ""
    """What is said below the prompt of a subscription's usage window."""


class Keys(NamedTuple):
    """What is pressed in a live session, in the terminal's names for keys."""

    submit: str
    """Sends off what stands in the prompt, and takes the answer that a dialog proposes."""
    interrupt: str
    """Stops the present turn; at a dialog it would be an answer."""
    clear: str
    """Empties the prompt."""


class Dialect(Protocol):
    """What one agent CLI writes and shows, and what it understands."""

    @property
    def keys(self) -> Keys:
        """Returns the keys that it is worked with in a terminal."""

    @property
    def telltales(self) -> tuple[bytes, ...]:
        """Returns words whose being printed makes it worth reading the screen soon."""

    @property
    def hook_names(self) -> Mapping[HookMoment, str]:
        """Returns what the CLI calls the hook of each moment but `OTHER`, and the log with it."""

    def hook_moment(self, event: Mapping[str, Any]) -> HookMoment:
        """Returns what a hook event tells of."""

    def tool_call(self, event: Mapping[str, Any]) -> ToolCall | None:
        """Reads the call that a hook event asks about; None where it tells of none."""

    def call_with_mail(self, event: Mapping[str, Any]) -> str | None:
        """Returns the id of the call with whose answer the agent can be told something.

        None where it would not hear it: at other moments, and in an agent of the CLI's own.
        """

    def conversation(self, event: Mapping[str, Any]) -> str | None:
        """Returns the id of the conversation that a hook event is from."""

    def fork_started(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the start of a session that began with another's conversation as one of its own.

        It has a goal to begin with, where one that is resumed waits.
        """

    def decision_answer(self, event: Mapping[str, Any], decision: Decision) -> dict[str, Any]:
        """Returns what the hook of an event prints; no opinion is an empty answer."""

    def answer_with_mail(self, answer: Mapping[str, Any], text: str) -> dict[str, Any]:
        """Returns the answer about a call, with something that the agent is told besides."""

    def read_answer(self, answer: Any) -> HookAnswer:
        """Reads what was answered to a hook."""

    def from_hook(self, event: Mapping[str, Any], *, at: float, session: int) -> Observation | None:
        """Reads a hook event; None where it says nothing about the state."""

    def resumed(self, seen: Observation, before: Iterable[Observation]) -> Observation:
        """Corrects what the start of a session says by how the session before it was left."""

    def from_status(self, status: Mapping[str, Any], *, session: int) -> Observation | None:
        """Reads the CLI's own status file; None where it says nothing that we know."""

    def from_output(
        self, line: Mapping[str, Any], *, at: float, session: int
    ) -> Observation | None:
        """Reads a line of a headless session's output; None where it says nothing of the state."""

    def line_kind(self, line: Any) -> LineKind:
        """Returns what a decoded line of a headless session's output is to us."""

    def ran_out_of_turns(self, result: Mapping[str, Any]) -> bool:
        """Whether the line that ends a turn says that it had as many model calls as it may."""

    def summary(self, result: Mapping[str, Any]) -> TurnEnded:
        """Returns what is worth keeping of the line that ends a turn."""

    def shown(self, text: str) -> list[str]:
        """Turns a headless session's output into lines that people read."""

    def permission_asked(self, line: Any) -> Mapping[str, Any] | None:
        """Returns `tool_name` and `tool_input` of a call that a line asks permission for."""

    def permission_line(self, asked: Mapping[str, Any], decision: Decision) -> str:
        """Returns the line that answers such a request; nobody is there to be asked."""

    def user_line(self, text: str) -> str:
        """Returns the line by which a headless session is told something."""

    def interrupt_line(self, name: str) -> str:
        """Returns the line that stops a headless session's turn; `name` is that request's own."""

    def transcript_lines(self, lines: Iterable[bytes], start: int) -> list[TranscriptLine]:
        """Reads what whole lines of a conversation, from an offset on, tell of messages."""

    def is_message(self, line: bytes) -> bool:
        """Returns whether a line of a conversation is a message: one without cannot be resumed."""

    def message_usage(self, line: bytes) -> list[CountedMessage]:
        """Reads what a line of a conversation says that an answer used, by model, if it does."""

    def result_usage(self, result: Mapping[str, Any]) -> list[UsageReport]:
        """Reads what the line that ends a turn says was used since the process began, by model."""

    def usage_window(self, line: Any, *, at: float) -> UsageWindow | None:
        """Reads what a line of output says of a subscription's usage window; None if nothing."""

    def screen(self, text: str) -> ScreenReading:
        """Judges a captured screen of a live session."""

    def typed(self, text: str) -> str:
        """Returns what to type so that a text is taken for a text and never for a command."""
