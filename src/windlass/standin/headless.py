"""The conversation without a screen: text, one JSON object, or JSON lines in and out."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import msgspec

from windlass import __version__
from windlass.core.script import ApiError
from windlass.standin.conversation import Conversation
from windlass.standin.face import Answer, Call, Ended, Interrupted, Message, Turn
from windlass.standin.files import TOOLS, Result
from windlass.standin.flags import MODES, Flags
from windlass.standin.player import play_turn
from windlass.standin.transcript import new_id

DOLLARS_PER_TOKEN = {
    "input_tokens": 5e-6,
    "output_tokens": 25e-6,
    "cache_creation_input_tokens": 6.25e-6,
    "cache_read_input_tokens": 0.5e-6,
}
CONTEXT_WINDOW = 200_000
LINGER = 5.0


class Headless:
    """Prints what happens in the chosen format; reads messages where the input is a stream."""

    live = False

    def __init__(self, talk: Conversation, flags: Flags) -> None:
        self._talk = talk
        self._flags = flags
        self._streams = flags.output_format == "stream-json"
        self._pending = b""
        self._answers: dict[str, dict[str, Any]] = {}
        self.eof = flags.input_format != "stream-json"
        self.busy = False
        self.failed = False
        self._leaving = False

    def run(self, prompt: str | None, *, goes_on: bool) -> int:
        """Takes messages until there are no more."""
        self._talk.loop.on_signal(signal.SIGINT, self._stop)
        if not self.eof:
            self._talk.loop.on_readable(sys.stdin.fileno(), self._read)
        if prompt:
            self._talk.inbox.append(Message(prompt))
        elif goes_on:
            self._turn(None)
        while self._more():
            self._turn(self._talk.inbox.popleft())
        return 1 if self.failed else 0

    def init(self) -> None:
        """Tells who this is."""
        self._emit(
            {
                "type": "system",
                "subtype": "init",
                "cwd": str(self._talk.cwd),
                "session_id": self._talk.session,
                "tools": ["Bash", *TOOLS],
                "mcp_servers": [],
                "model": self._talk.model,
                "permissionMode": self._talk.policy.mode,
                "slash_commands": ["exit"],
                "apiKeySource": "none",
                "claude_code_version": __version__,
                "output_style": "default",
                "agents": [],
                "skills": [],
                "plugins": [],
                "uuid": new_id(),
            }
        )

    def begun(self, prompt: Message) -> None:
        """Echoes the message that starts a turn."""
        self._replay(prompt)

    def slipped_in(self, message: Message) -> None:
        """Echoes a message taken in the middle of a turn."""
        self._replay(message)

    def said(self, block: dict[str, Any], line: dict[str, Any]) -> None:
        """Prints a block of the model's reply."""
        del block
        self._emit(line)

    def acted(self, call: Call, result: Result, line: dict[str, Any]) -> None:
        """Prints a tool's result."""
        del call, result
        self._emit(line)

    def retrying(self, error: ApiError) -> None:
        """Says that the model is asked again later."""
        self._emit(
            {
                "type": "system",
                "subtype": "api_retry",
                "attempt": 1,
                "max_retries": 10,
                "retry_delay_ms": int((error.retry_after or 0) * 1000),
                "error_status": error.status,
                "error": "rate_limit" if error.status == 429 else "server_error",
                "session_id": self._talk.session,
                "uuid": new_id(),
            }
        )

    def noted(self, text: str) -> None:
        """Says what people would otherwise see on the screen."""
        self._emit(
            {
                "type": "system",
                "subtype": "notification",
                "text": text,
                "session_id": self._talk.session,
                "uuid": new_id(),
            }
        )

    def ask(self, call: Call, suggestions: list[dict[str, Any]]) -> Answer:
        """Asks over standard output, if somebody said that they would answer."""
        if self._flags.permission_prompt_tool != "stdio" or self.eof:
            return Answer(None)
        request_id = new_id()
        request = {
            "subtype": "can_use_tool",
            "tool_name": call.tool,
            "display_name": call.tool,
            "input": call.input,
            "description": str(call.input.get("command") or call.input.get("file_path") or ""),
            "permission_suggestions": suggestions,
            "tool_use_id": call.id,
        }
        self._emit({"type": "control_request", "request_id": request_id, "request": request})
        self._talk.loop.wait(lambda: request_id in self._answers or self.eof)
        answer = self._answers.pop(request_id, {})
        updated = answer.get("updatedInput")
        return Answer(
            answer.get("behavior") == "allow",
            str(answer.get("message", "")),
            updated if isinstance(updated, dict) else None,
        )

    def finished(self, turn: Turn) -> None:
        """Prints the result of a turn."""
        self.busy = False
        self.failed = turn.is_error
        result = self._result(turn)
        if self._streams:
            self._emit(result)
        elif self._flags.output_format == "json":
            _print(msgspec.json.encode(result))
        elif turn.subtype == "error_max_turns":
            _print(b"Error: Reached max turns (%d)" % (self._flags.max_turns or 0))
        elif turn.subtype == "success":
            _print(turn.text.encode("utf-8", "replace"))
        else:
            _print(b"Execution error")

    def _turn(self, message: Message | None) -> None:
        self.busy = True
        self.init()
        self.finished(play_turn(self._talk, message))
        if self._leaving:
            raise Ended(0)

    def _more(self) -> bool:
        """Waits for a message; once the input is closed, only for what runs in the background."""
        inbox = self._talk.inbox
        self._talk.loop.wait(lambda: bool(inbox) or self.eof)
        if not inbox and self._talk.shell.tasks:
            self._talk.loop.wait(lambda: bool(inbox), LINGER)
        return bool(inbox)

    def _stop(self) -> None:
        """Ends the session on Ctrl-C, with a result if a turn is under way."""
        self._leaving = True
        self._interrupt()
        raise Ended(0)

    def _interrupt(self) -> None:
        if self.busy:
            raise Interrupted

    def _result(self, turn: Turn) -> dict[str, Any]:
        spent, model = self._talk.spent, self._talk.model
        cost = round(sum(DOLLARS_PER_TOKEN[kind] * count for kind, count in spent.items()), 10)
        result: dict[str, Any] = {
            "type": "result",
            "subtype": turn.subtype,
            "is_error": turn.is_error,
            "api_error_status": turn.api_error_status,
            "duration_ms": turn.duration_ms,
            "duration_api_ms": turn.duration_ms,
            "num_turns": max(1, turn.rounds),
            "stop_reason": "end_turn",
            "session_id": self._talk.session,
            "total_cost_usd": cost,
            "usage": turn.usage,
            "modelUsage": {
                model: {
                    "inputTokens": spent["input_tokens"],
                    "outputTokens": spent["output_tokens"],
                    "cacheReadInputTokens": spent["cache_read_input_tokens"],
                    "cacheCreationInputTokens": spent["cache_creation_input_tokens"],
                    "costUSD": cost,
                    "contextWindow": CONTEXT_WINDOW,
                    "maxOutputTokens": 32_000,
                }
            },
            "permission_denials": turn.denials,
            "terminal_reason": turn.terminal_reason,
            "uuid": new_id(),
        }
        if turn.subtype == "success":
            result["result"] = turn.text
        else:
            result["errors"] = [turn.terminal_reason]
        if turn.origin != "prompt":
            result["origin"] = {"kind": "task-notification"}
        return result

    def _replay(self, message: Message) -> None:
        if not self._flags.replay_user_messages or message.origin != "prompt":
            return
        content = [{"type": "text", "text": message.text}]
        self._emit(
            {
                "type": "user",
                "message": {"role": "user", "content": content},
                "session_id": self._talk.session,
                "parent_tool_use_id": None,
                "uuid": message.uuid or new_id(),
                "isReplay": True,
            }
        )

    def _read(self) -> None:
        data = os.read(sys.stdin.fileno(), 65536)
        if not data:
            self.eof = True
            self._talk.loop.forget(sys.stdin.fileno())
        *lines, self._pending = (self._pending + data).split(b"\n")
        if self.eof and self._pending:
            lines, self._pending = [*lines, self._pending], b""
        stop: Exception | None = None
        for line in lines:
            try:
                if line.strip():
                    self._take(line)
            except (Interrupted, Ended) as raised:
                stop = raised
        if stop:
            raise stop

    def _take(self, line: bytes) -> None:
        try:
            data = msgspec.json.decode(line)
        except msgspec.DecodeError as error:
            sys.stderr.write(f"Error parsing streaming input line: {error}\n")
            raise Ended(1) from None
        if not isinstance(data, dict):
            return
        kind = data.get("type")
        if kind == "user":
            text = _text_of(_part(data, "message").get("content", ""))
            self._talk.inbox.append(Message(text, uuid=data.get("uuid")))
        elif kind == "control_request":
            self._control(str(data.get("request_id", "")), _part(data, "request"))
        elif kind == "control_response":
            response = _part(data, "response")
            self._answers[str(response.get("request_id", ""))] = _part(response, "response")

    def _control(self, request_id: str, request: dict[str, Any]) -> None:
        subtype = request.get("subtype")
        response: dict[str, Any] = {"subtype": "success", "request_id": request_id, "response": {}}
        if subtype == "initialize":
            response["response"] = {"commands": [], "output_style": "default", "models": []}
        elif subtype == "set_permission_mode" and request.get("mode") in MODES:
            self._talk.policy.mode = request["mode"]
            response["response"] = {"mode": request["mode"]}
        elif subtype != "interrupt":
            problem = f"Unsupported control request subtype: {subtype}"
            response = {"subtype": "error", "request_id": request_id, "error": problem}
        self._emit({"type": "control_response", "response": response})
        if subtype == "interrupt":
            self._interrupt()

    def _emit(self, line: dict[str, Any]) -> None:
        if self._streams:
            _print(msgspec.json.encode(line))


def _part(data: dict[str, Any], key: str) -> dict[str, Any]:
    part = data.get(key)
    return part if isinstance(part, dict) else {}


def _text_of(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content)


def _print(data: bytes) -> None:
    """Writes one line at once; a reader that left ends the session."""
    data += b"\n"
    try:
        while data:
            data = data[os.write(sys.stdout.fileno(), data) :]
    except BrokenPipeError:
        raise Ended(1) from None
