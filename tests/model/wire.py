"""A client that speaks the Messages API by hand, and keeps a history as Claude Code does."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from typing import Any

from windlass.model.server import Model

TOOLS = [{"name": "Bash"}]


def post(
    model: Model, path: str, body: bytes | object, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Posts bytes, or anything else as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    connection = HTTPConnection("127.0.0.1", model.port, timeout=20)
    try:
        connection.request("POST", path, data, headers)
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def events(stream: bytes) -> list[dict[str, Any]]:
    """Takes server-sent events apart."""
    found = []
    for part in stream.decode().split("\n\n"):
        if part:
            name, data = part.split("\n")
            found.append(json.loads(data.removeprefix("data: ")))
            assert name == f"event: {found[-1]['type']}"
    return found


class Client:
    """One conversation."""

    def __init__(self, model: Model, session: str = "s", **headers: str) -> None:
        self.model = model
        self.headers = {"x-claude-code-session-id": session, **headers}
        self.history: list[dict[str, Any]] = []
        self.tools: list[dict[str, Any]] = TOOLS

    def hear(self, content: Any, role: str = "user") -> None:
        """Adds to the history without asking."""
        self.history.append({"role": role, "content": content})

    def ask(self, *, keep: bool = True) -> tuple[int, list[Any]]:
        """Asks, without a stream; returns the status and what was said, in short."""
        body = {"model": "m", "max_tokens": 9, "tools": self.tools, "messages": self.history}
        status, _, answer = post(self.model, "/v1/messages?beta=true", body, **self.headers)
        data = json.loads(answer)
        if status != 200:
            return status, [data["error"]["type"]]
        if keep and data["content"]:
            self.hear(data["content"], "assistant")
        return status, [short(block) for block in data["content"]]

    def say(self, text: str) -> list[Any]:
        """Says something and returns the reply."""
        self.hear([{"type": "text", "text": text}])
        return self.ask()[1]

    def give(self, text: str = "ok", *more: str) -> list[Any]:
        """Gives the result of the last call, followed by texts of the program's own."""
        call = self.history[-1]["content"][-1]["id"]
        blocks = [{"type": "tool_result", "tool_use_id": call, "content": text}]
        self.hear([*blocks, *({"type": "text", "text": one} for one in more)])
        return self.ask()[1]


def short(block: dict[str, Any]) -> Any:
    if block["type"] == "tool_use":
        return (block["name"], block["input"])
    return block["text"] if block["type"] == "text" else (block["thinking"],)
