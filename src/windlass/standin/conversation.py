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

from windlass.core.script import Entry, Script, Text, Thinking, Tool, default_script, fill
from windlass.standin import cursor as play
from windlass.standin.cursor import Cursor
from windlass.standin.face import Call, Face, Message, Turn, no_tokens
from windlass.standin.files import Result
from windlass.standin.hooks import Hooks, Outcome
from windlass.standin.loop import Loop
from windlass.standin.permissions import Policy
from windlass.standin.shell import Shell
from windlass.standin.transcript import History, Transcript, new_id

EFFORT = {"level": "high"}
CALM = frozenset({"SessionStart", "SessionEnd", "Notification"})
EFFORTLESS = CALM | {"UserPromptSubmit"}


class Conversation:
    """What everything that happens in a session works on."""

    def __init__(
        self,
        *,
        loop: Loop,
        script: Script | None,
        transcript: Transcript,
        policy: Policy,
        cwd: Path,
        model: str,
        agent: str,
        inbox: deque[Message],
        max_turns: int | None = None,
    ) -> None:
        self.loop = loop
        self.script = script or Script(())
        self._improvises = script is None
        self.transcript = transcript
        self.policy = policy
        self.cwd = cwd
        self.model = model
        self.agent = agent
        self.inbox = inbox
        self._max_turns = max_turns
        self.hooks: Hooks
        self.shell: Shell
        self.face: Face
        self.cursor = Cursor()
        self.past: list[tuple[str, str]] = []
        self.goal = ""
        self.message = ""
        self.prompt_id: str | None = None
        self.last_text = ""
        self.turn = Turn()
        self.spent = no_tokens()
        self._reply: str | None = None
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
        if self.prompt_id and event != "SessionStart":
            payload["prompt_id"] = self.prompt_id
        if event not in CALM and event != "StopFailure":
            payload["permission_mode"] = self.policy.mode
        if event not in EFFORTLESS:
            payload["effort"] = EFFORT
        return self.hooks.fire(event, {**payload, "hook_event_name": event, **fields})

    def filled(self, value: Any) -> Any:
        """Replaces the names that a script may use."""
        names = {"MESSAGE": self.message, "AGENT": self.agent, "GOAL": self.goal}
        return fill(value, names)

    def hear(self, text: str, *, meta: bool = False, words: str | None = None) -> None:
        """Takes a message into the conversation: the script reacts, the transcript keeps it."""
        if not self.cursor.begun:
            self.set_goal(text)
        self.cursor = play.receive(self.script, self.cursor, text)
        self.message = text
        line: dict[str, Any] = {"isMeta": True} if meta else {}
        self.transcript.add(
            "user",
            promptId=self.prompt_id,
            message={"role": "user", "content": text if words is None else words},
            cursor=self._saved(),
            **line,
        )

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

    def exhausted(self, entry: Entry) -> bool:
        """Says whether an entry would begin one reply more than `--max-turns` allows."""
        speaks = isinstance(entry, Text | Thinking | Tool) and self._reply is None
        return speaks and self._max_turns is not None and self.turn.rounds >= self._max_turns

    def add_contexts(self, event: str, contexts: list[str], *, react: bool = True) -> None:
        """Records what hooks added for the model; rules react to it as to a message."""
        for context in contexts:
            if react:
                self.cursor = play.notice(self.script, self.cursor, context)
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

    def say(self, block: dict[str, Any], *, final: bool = False, **fields: Any) -> dict[str, Any]:
        """Says one block of the model's reply; only the last one of an entry moves the script."""
        if self._reply is None:
            self._reply = "msg_" + os.urandom(12).hex()
            self.turn.rounds += 1
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
        self._account()
        saved = {} if block["type"] == "tool_use" else {"cursor": self._saved()}
        uuid = self.transcript.add("assistant", message=message, **saved, **fields)
        if block["type"] == "text":
            self.last_text = self.turn.text = block["text"]
        line = {
            "type": "assistant",
            "message": message,
            "parent_tool_use_id": None,
            "session_id": self.session,
            "uuid": uuid,
            **fields,
        }
        if final:
            self._reply = None
        self.face.said(block, line)
        return line

    def result(self, call: Call, result: Result) -> None:
        """Records what a tool gave; from here on the call counts as done."""
        self._reply = None
        block: dict[str, Any] = {
            "tool_use_id": call.id,
            "type": "tool_result",
            "content": result.content,
        }
        if result.error:
            block["is_error"] = True
        message = {"role": "user", "content": [block]}
        used = result.response if not result.error else f"Error: {result.content}"
        uuid = self.transcript.add(
            "user",
            promptId=self.prompt_id,
            message=message,
            toolUseResult=used,
            cursor=self._saved(),
        )
        line = {
            "type": "user",
            "message": message,
            "parent_tool_use_id": None,
            "session_id": self.session,
            "uuid": uuid,
            "tool_use_result": used,
        }
        self.face.acted(call, result, line)

    def mark(self, subtype: str, **fields: Any) -> None:
        """Records a step that says nothing to the model."""
        self.transcript.add("system", subtype=subtype, cursor=self._saved(), **fields)

    def owe(self, tokens: Mapping[str, int]) -> None:
        """Sets the tokens that the next message reports."""
        for kind, count in tokens.items():
            self._usage[kind] += count

    def new_prompt(self) -> None:
        """Gives what follows a prompt id of its own."""
        self.prompt_id = new_id()
        self._reply = None

    def _account(self) -> None:
        for kind, count in self._usage.items():
            self.turn.usage[kind] += count
            self.spent[kind] += count
        self._usage = no_tokens()

    def _saved(self) -> Any:
        return msgspec.to_builtins(self.cursor, str_keys=True)
