"""The conversation without a screen: text, one JSON object, or JSON lines in and out."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import msgspec

from windlass import __version__
from windlass.core.script.format import ApiError
from windlass.standin.compaction import compact, is_command
from windlass.standin.conversation import Conversation
from windlass.standin.face import Answer, Ended, Hooked, HookedCall, Interrupted, Turn, UserMessage
from windlass.standin.files import TOOLS, ToolResult
from windlass.standin.flags import MODES, Flags
from windlass.standin.player import play_turn
from windlass.standin.results import result_line
from windlass.standin.transcript import new_id

RETRIED = {429: "rate_limit", 401: "authentication_failed", 529: "overloaded"}
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
            self._talk.inbox.append(UserMessage(prompt))
        elif goes_on:
            self._turn(None)
        while self._more():
            self._turn(self._talk.inbox.popleft())
        return 1 if self.failed else 0

    def init(self) -> None:
        """Prints the line with which a session says who it is."""
        self._emit(
            {
                "type": "system",
                "subtype": "init",
                "cwd": str(self._talk.cwd),
                "session_id": self._talk.session,
                "tools": ["Bash", *TOOLS],
                "mcp_servers": [],
                "model": self._talk.model,
                "permissionMode": self._talk.rules.mode,
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

    def begun(self, prompt: UserMessage) -> None:
        """Echoes the message that starts a turn."""
        self._replay(prompt)

    def slipped_in(self, message: UserMessage) -> None:
        """Echoes a message taken in the middle of a turn."""
        self._replay(message)

    def said(self, block: dict[str, Any], line: dict[str, Any]) -> None:
        """Prints a block of the model's reply."""
        del block
        self._emit(line)

    def acted(self, call: HookedCall, result: ToolResult, line: dict[str, Any]) -> None:
        """Prints a tool's result."""
        del call, result
        self._emit(line)

    def retrying(self, error: ApiError, attempt: int) -> None:
        """Says that the model is asked again later."""
        self._emit(
            {
                "type": "system",
                "subtype": "api_retry",
                "attempt": attempt,
                "max_retries": 10,
                "retry_delay_ms": int((error.retry_after or 0) * 1000),
                "error_status": error.status,
                "error": RETRIED.get(error.status, "server_error"),
                "session_id": self._talk.session,
                "uuid": new_id(),
            }
        )

    def noted(self, text: str) -> None:
        """Says what people would otherwise see on the screen."""
        self._system("informational", content=text, level="warning")

    def interjected(self, line: dict[str, Any]) -> None:
        """Prints what the program said in the user's name."""
        self._emit(line)

    def ask(self, call: HookedCall, suggestions: list[dict[str, Any]], hooks: Hooked) -> Answer:
        """Asks over standard output, if somebody said that they would answer.

        Hooks are asked at the same time; whoever is first decides, as in the real program.
        """
        if self._flags.permission_prompt_tool != "stdio":
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
        cancel = {"type": "control_cancel_request", "request_id": request_id}
        try:
            hooked = hooks()
            if hooked and request_id not in self._answers:
                self._emit(cancel)
                return hooked
            self._talk.loop.wait(lambda: request_id in self._answers or self.eof)
        except Interrupted:
            self._emit(cancel)
            raise
        return _answer(self._answers.pop(request_id, None))

    def finished(self, turn: Turn) -> None:
        """Prints the result of a turn."""
        self.busy = False
        self.failed = turn.is_error
        result = result_line(self._talk, turn)
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

    def _turn(self, message: UserMessage | None) -> None:
        self.busy = True
        if message and is_command(message):
            self.finished(self._compacted(message))
        else:
            self.init()
            self.finished(play_turn(self._talk, message))
        if self._leaving:
            raise Ended(0)

    def _compacted(self, message: UserMessage) -> Turn:
        self._system("status", status="compacting")
        done = compact(self._talk, message)
        self._system("status", status=None, compact_result="success" if done else "failed")
        self.init()
        if done:
            self._system("compact_boundary", compact_metadata={"trigger": "manual"})
        return Turn(text="" if done else "Not enough messages to compact.")

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

    def _replay(self, message: UserMessage) -> None:
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
            content = _part(data, "message").get("content", "")
            blocks = content if isinstance(content, list) else None
            self._talk.inbox.append(
                UserMessage(_text_of(content), uuid=data.get("uuid"), content=blocks)
            )
        elif kind == "control_request":
            self._control(str(data.get("request_id", "")), _part(data, "request"))
        elif kind == "control_response":
            response = _part(data, "response")
            self._answers[str(response.get("request_id", ""))] = response

    def _control(self, request_id: str, request: dict[str, Any]) -> None:
        subtype = request.get("subtype")
        response: dict[str, Any] = {"subtype": "success", "request_id": request_id}
        if subtype == "initialize":
            response["response"] = {"commands": [], "output_style": "default", "models": []}
        elif subtype == "set_permission_mode":
            mode = request.get("mode")
            self._talk.rules.mode = mode if mode in MODES else self._talk.rules.mode
            response["response"] = {"mode": mode}
        elif subtype != "interrupt":
            problem = f"Unsupported control request subtype: {subtype}"
            response = {"subtype": "error", "request_id": request_id, "error": problem}
        self._emit({"type": "control_response", "response": response})
        if subtype == "interrupt":
            self._interrupt()

    def _system(self, subtype: str, **fields: Any) -> None:
        session = self._talk.session
        self._emit(
            {
                "type": "system",
                "subtype": subtype,
                **fields,
                "session_id": session,
                "uuid": new_id(),
            }
        )

    def _emit(self, line: dict[str, Any]) -> None:
        if self._streams:
            _print(msgspec.json.encode(line))


def _answer(response: dict[str, Any] | None) -> Answer:
    """Reads an answer about a tool; the real program takes no allow without the input."""
    if response is None:
        return _unanswered("Tool permission stream closed before response received")
    if response.get("subtype") != "success":
        return _unanswered(str(response.get("error", "")))
    answer = _part(response, "response")
    updated, message = answer.get("updatedInput"), answer.get("message")
    if answer.get("behavior") == "allow" and isinstance(updated, dict):
        return Answer(allowed=True, updated_input=updated)
    if answer.get("behavior") == "deny" and isinstance(message, str):
        ends_turn = bool(answer.get("interrupt"))
        return Answer(allowed=False, message=message, ends_turn=ends_turn)
    return _unanswered("allow needs updatedInput, an object; deny needs message, a text")


def _unanswered(problem: str) -> Answer:
    return Answer(allowed=False, message=f"Tool permission request failed: Error: {problem}")


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
