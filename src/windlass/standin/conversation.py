"""The state of one conversation and its record: who it is, how far it came, what was said.

Every fact goes to the transcript first and to the face second, so what a person has seen is never
more than what a resumed session knows.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from windlass.core.mail import messages
from windlass.core.script import cursor as play
from windlass.core.script.cursor import Cursor
from windlass.core.script.format import Entry, Script, Text, Thinking, Tool, default_script, fill
from windlass.standin.face import Face, HookedCall, Limit, Turn, UserMessage, no_tokens
from windlass.standin.files import ToolResult
from windlass.standin.hooks import HookRunner, Outcome
from windlass.standin.loop import Loop
from windlass.standin.permissions import PermissionRules
from windlass.standin.price import cost
from windlass.standin.shell import Shell
from windlass.standin.transcript import History, Transcript, new_id

EFFORT = {"level": "high"}
CALM = frozenset({"SessionStart", "SessionEnd", "Notification", "PreCompact", "PostCompact"})
EFFORTLESS = CALM | {"UserPromptSubmit"}


class Conversation:
    """What everything that happens in a session works on."""

    def __init__(
        self,
        *,
        loop: Loop,
        script: Script | None,
        transcript: Transcript,
        rules: PermissionRules,
        cwd: Path,
        model: str,
        agent: str,
        inbox: deque[UserMessage],
        max_turns: int | None = None,
        max_usd: float | None = None,
    ) -> None:
        self.loop = loop
        self.script = script or Script(())
        self._improvises = script is None
        self.transcript = transcript
        self.rules = rules
        self.cwd = cwd
        self.model = model
        self.agent = agent
        self.inbox = inbox
        self._max_turns = max_turns
        self._max_usd = max_usd
        self.hooks: HookRunner
        self.shell: Shell
        self.face: Face
        self.cursor = Cursor()
        self.past: list[tuple[str, str]] = []
        self.goal = ""
        self.message = ""
        self.prompt_id: str | None = None
        self.turn = Turn()
        self.spent = no_tokens()
        self._reply: str | None = None
        self._owed = no_tokens()
        self._usage = no_tokens()

    @property
    def session(self) -> str:
        """Returns the session's id."""
        return self.transcript.session

    def fire(self, event: str, **fields: Any) -> Outcome:
        """Runs the hooks of an event, with the input that the real program gives."""
        if not self.hooks.wants(event):
            return Outcome()
        payload: dict[str, Any] = {
            "session_id": self.session,
            "transcript_path": str(self.transcript.path),
            "cwd": str(self.cwd),
        }
        if self.prompt_id:
            payload["prompt_id"] = self.prompt_id
        if event not in CALM and event != "StopFailure":
            payload["permission_mode"] = self.rules.mode
        if event not in EFFORTLESS:
            payload["effort"] = EFFORT
        return self.hooks.fire(event, {**payload, "hook_event_name": event, **fields})

    def filled(self, value: Any) -> Any:
        """Replaces the names that a script may use."""
        names = {"MESSAGE": self.message, "AGENT": self.agent, "GOAL": self.goal}
        return fill(value, names)

    def hear(self, message: UserMessage, *, meta: bool = False) -> None:
        """Takes a message into the conversation: the script reacts, the transcript keeps it."""
        if not self.cursor.begun:
            self.set_goal(message.text)
        self._react(message)
        line: dict[str, Any] = {"isMeta": True} if meta else {}
        said = {"role": "user", "content": message.said()}
        uuid = self.transcript.add(
            "user", promptId=self.prompt_id, message=said, cursor=self._saved(), **line
        )
        if meta:
            self.turn.answered += 1
            self.face.interjected({**self._line("user", said, uuid), "isSynthetic": True})

    def slip_in(self, message: UserMessage) -> None:
        """Takes a message in the middle of a turn, which the real program keeps as an extra."""
        self._react(message)
        queued = {"type": "queued_command", "prompt": message.said(), "commandMode": "prompt"}
        self.transcript.add("attachment", attachment=queued, cursor=self._saved())

    def interject(self, words: str, **fields: Any) -> None:
        """Tells the model something in the user's name, to which no rule reacts."""
        said = {"role": "user", "content": [{"type": "text", "text": words}]}
        uuid = self.transcript.add(
            "user", promptId=self.prompt_id, message=said, cursor=self._saved(), **fields
        )
        self.turn.answered += 1
        self.face.interjected(self._line("user", said, uuid))

    def _react(self, message: UserMessage) -> None:
        self.cursor = play.hear(self.script, self.cursor, message.text)
        self.message = play.message(message.text)

    def set_goal(self, goal: str) -> None:
        """Takes the first prompt as the goal; without a script, it decides what is played."""
        self.goal = goal
        if self._improvises:
            self.script = default_script(goal, self.agent)

    def recall(self, history: History) -> None:
        """Goes back to where a transcript ends."""
        self.set_goal(history.goal)
        self.message = history.message
        self.cursor = history.cursor
        self.past = history.texts()

    def check_limits(self, entry: Entry) -> None:
        """Raises Limit when an entry would begin a reply that is one too many."""
        if self._reply is not None or not isinstance(entry, Text | Thinking | Tool):
            return
        if self._max_turns is not None and self.turn.rounds >= self._max_turns:
            raise Limit("max_turns", f"Reached maximum number of turns ({self._max_turns})")
        self.check_budget()

    def check_budget(self) -> None:
        """Raises Limit when the money is spent: after the reply that crossed the line."""
        if self._max_usd is not None and cost(self.spent) >= self._max_usd:
            raise Limit("max_budget_usd", f"Reached maximum budget (${self._max_usd:g})")

    def add_contexts(self, event: str, contexts: list[str], *, react: bool = True) -> None:
        """Records what hooks added for the model; rules react to it as to a message."""
        for context in contexts:
            if react:
                self.cursor = play.overhear(self.script, self.cursor, context)
                if messages.bodies(context):
                    self.message = play.message(context)
            self.transcript.add(
                "attachment",
                hold=event == "SessionStart",
                attachment={
                    "type": "hook_additional_context",
                    "hookEvent": event,
                    "content": [context],
                },
                cursor=self._saved(),
            )

    def say(self, block: dict[str, Any]) -> None:
        """Says one block of a reply; blocks of one reply share its id and its usage."""
        if self._reply is None:
            self._reply = "msg_" + os.urandom(12).hex()
            self._usage = no_tokens()
            self.turn.rounds += 1
        self._account()
        message = {
            "id": self._reply,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [block],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": dict(self._usage),
        }
        saved = {} if block["type"] == "tool_use" else {"cursor": self._saved()}
        uuid = self.transcript.add("assistant", message=message, **saved)
        self.turn.stop_reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
        if block["type"] == "text":
            self.turn.text = block["text"]
        # Whoever listens gets the figures of the reply's beginning, as from the real program.
        begun = {**self._usage, "output_tokens": min(1, self._usage["output_tokens"])}
        self.face.said(block, self._line("assistant", {**message, "usage": begun}, uuid))

    def lament(self, words: str, kind: str) -> None:
        """Says in the model's place that it could not be reached."""
        self._reply = None
        block = {"type": "text", "text": words}
        message = {
            "id": new_id(),
            "type": "message",
            "role": "assistant",
            "model": "<synthetic>",
            "content": [block],
            "stop_reason": "stop_sequence",
            "stop_sequence": "",
            "usage": no_tokens(),
        }
        uuid = self.transcript.add(
            "assistant", message=message, cursor=self._saved(), error=kind, isApiErrorMessage=True
        )
        self.turn.text = words
        self.turn.stop_reason = "stop_sequence"
        self.face.said(block, {**self._line("assistant", message, uuid), "error": kind})

    def _line(self, kind: str, message: dict[str, Any], uuid: str) -> dict[str, Any]:
        return {
            "type": kind,
            "message": message,
            "parent_tool_use_id": None,
            "session_id": self.session,
            "uuid": uuid,
        }

    def result(self, call: HookedCall, result: ToolResult) -> None:
        """Records what a tool gave; from here on the call counts as done."""
        self._reply = None
        block: dict[str, Any] = {
            "tool_use_id": call.id,
            "type": "tool_result",
            "content": result.content or f"({call.tool} completed with no output)",
            "is_error": result.error,
        }
        message = {"role": "user", "content": [block]}
        used = _used(result)
        uuid = self.transcript.add(
            "user",
            promptId=self.prompt_id,
            message=message,
            toolUseResult=used,
            cursor=self._saved(),
        )
        self.turn.answered += 1
        line = self._line("user", message, uuid)
        self.face.acted(call, result, {**line, "tool_use_result": used})

    def mark(self, subtype: str, **fields: Any) -> None:
        """Records a step that says nothing to the model."""
        self.transcript.add("system", subtype=subtype, cursor=self._saved(), **fields)

    def owe(self, tokens: Mapping[str, int]) -> None:
        """Sets the tokens that the next message reports."""
        for kind, count in tokens.items():
            self._owed[kind] += count

    def new_prompt(self) -> None:
        """Gives what follows a prompt id of its own."""
        self.prompt_id = new_id()
        self._reply = None

    def _account(self) -> None:
        for kind, count in self._owed.items():
            for account in (self._usage, self.turn.usage, self.spent):
                account[kind] += count
        self._owed = no_tokens()

    def _saved(self) -> Any:
        return msgspec.to_builtins(self.cursor, str_keys=True)


def _used(result: ToolResult) -> Any:
    if result.interrupted:
        return "User rejected tool use"
    if not result.error:
        return result.response
    bare = result.content.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    return f"Error: {bare.removeprefix('Error: ')}"
