"""What came in, for tests and people to look at."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal

import msgspec

from windlass.model.conversation import Reply, ToolUse
from windlass.model.request import Asked, Item, Kind

KEPT = 10_000


class LoggedResult(msgspec.Struct, frozen=True):
    """What a tool gave."""

    id: str
    text: str
    is_error: bool = False


class Request(msgspec.Struct, frozen=True):
    """One request: who asked what, what was new in it, and what it was answered.

    `texts` are the new messages, whole; `contexts` what hooks added; `tool` is the tool that the
    reply calls. `outcome` changes while the reply is on its way.
    """

    number: int
    kind: Kind | Literal["count", "bad"]
    session: str = ""
    subagent: str = ""
    model: str = ""
    texts: tuple[str, ...] = ()
    contexts: tuple[str, ...] = ()
    results: tuple[LoggedResult, ...] = ()
    status: int = 200
    tool: str = ""
    again: bool = False
    outcome: Literal["answering", "answered", "broken", "crashed"] = "answering"


class RequestLog:
    """The requests in the order in which they came; may be used from any thread."""

    def __init__(self, on_request: Callable[[Request], None] | None) -> None:
        self._on_request = on_request
        self._changed = threading.Condition()
        self._requests: dict[int, Request] = {}
        self._count = 0

    def add(
        self,
        kind: Kind | Literal["count", "bad"],
        *,
        asked: Asked | None = None,
        status: int = 200,
        news: tuple[Item, ...] = (),
        reply: Reply | None = None,
    ) -> int:
        """Records a request and returns its number."""
        calls = [step.name for step in reply.steps if isinstance(step, ToolUse)] if reply else []
        with self._changed:
            self._count += 1
            request = Request(
                self._count,
                kind,
                session=asked.session if asked else "",
                subagent=asked.subagent if asked else "",
                model=asked.model if asked else "",
                texts=tuple(item.text for item in news if item.kind == "message"),
                contexts=tuple(item.text for item in news if item.kind == "context"),
                results=tuple(
                    LoggedResult(item.id, item.text, item.error)
                    for item in news
                    if item.kind == "result"
                ),
                status=status,
                tool="".join(calls),
                again=reply is not None and reply.again,
            )
            self._requests[request.number] = request
            self._requests.pop(request.number - KEPT, None)
            self._changed.notify_all()
        if self._on_request:
            self._on_request(request)
        return request.number

    def end(self, number: int, outcome: Literal["answered", "broken", "crashed"]) -> None:
        """Says how answering a request ended."""
        with self._changed:
            request = self._requests.get(number)
            if request is not None:
                self._requests[number] = msgspec.structs.replace(request, outcome=outcome)
            self._changed.notify_all()

    def all(self) -> list[Request]:
        """Returns the requests so far."""
        with self._changed:
            return list(self._requests.values())

    def wait_for(self, test: Callable[[Request], bool], *, within: float) -> Request:
        """Returns the first request that passes a test, waiting for it if need be."""

        def first() -> Request | None:
            return next((request for request in self._requests.values() if test(request)), None)

        with self._changed:
            request = self._changed.wait_for(first, within)
            if request is None:
                came = "\n".join(f"  {each}" for each in self._requests.values())
                raise TimeoutError(f"no such request within {within:g} s; there were:\n{came}")
            return request
