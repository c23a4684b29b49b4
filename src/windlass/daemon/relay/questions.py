"""What may come in at an agent's relay: one question to the model, read strictly.

Nothing of a caller's request is passed on but its body and a few headers that say how the API is
spoken; the request to the model is written anew. So what two programs could read in two ways
reaches nobody else.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import h11

from windlass.api.bounded_http import BoundedConnection

LARGEST_BODY = 32 << 20
"""What the API itself takes at most."""
PIECE = 64 << 10
_ANSWERED = {
    path + query: path
    for path in ("/v1/messages", "/v1/messages/count_tokens")
    for query in ("", "?beta=true")
}
_PASSED_ON = frozenset(
    {"accept", "anthropic-beta", "anthropic-version", "content-type", "user-agent", "x-app"}
)
_ONES_OWN = ("x-claude-code-", "x-stainless-")
_NEVER = ("transfer-encoding", "upgrade", "expect", "trailer", "content-encoding")


class Refused(Exception):
    """The request is answered with an error, in the words of the API.

    `why` is said to the agent, `cause` to the person alone: it may name what is theirs.
    """

    def __init__(self, status: int, why: str, *, cause: str = "") -> None:
        super().__init__(why)
        self.status = status
        self.why = why
        self.cause = cause


def unreachable(cause: str) -> Refused:
    """The refusal where the model's address does not answer as it should."""
    return Refused(502, "the model cannot be asked now: the daemon's log says why", cause=cause)


class Question(NamedTuple):
    """What a caller asks, before its body: where, by which key, how large, and with what."""

    target: str
    counts_only: bool
    """Whether it asks for the number of tokens alone, which costs nothing."""
    token: str
    length: int
    headers: list[tuple[str, str]]


class Peer:
    """One end of HTTP/1.1 over asyncio's streams."""

    def __init__(
        self,
        role: type[h11.CLIENT | h11.SERVER],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.http = BoundedConnection(role)
        self._reader = reader
        self.writer = writer

    async def next(self) -> h11.Event | None:
        """Receives the next part of what the other side says; None where no more is to come."""
        while (event := self.http.next_event()) is h11.NEED_DATA:
            self.http.receive_data(await self._reader.read(PIECE))
        return event if isinstance(event, h11.Event) else None

    async def say(self, *events: h11.Event) -> None:
        """Sends; waits while the other side does not read."""
        for event in events:
            self.writer.write(self.http.send(event) or b"")
        await self.writer.drain()

    @property
    def is_gone(self) -> bool:
        """Whether it is known that nobody is there any more."""
        return self.writer.transport.is_closing()


def read(request: h11.Event | None) -> Question:
    """Reads the head of a request; refuses all but the two questions."""
    if not isinstance(request, h11.Request):
        raise Refused(400, "this is no request")
    target = request.target.decode("ascii", "replace")
    if request.method != b"POST" or target not in _ANSWERED:
        raise Refused(404, "only the model is asked here: POST /v1/messages, and its count_tokens")
    said: dict[str, list[str]] = {}
    for name, value in request.headers:
        said.setdefault(name.decode("ascii"), []).append(value.decode("latin-1"))
    if refused := [name for name in _NEVER if name in said]:
        raise Refused(400, f"a request here has no {refused[0]} header")
    if request.http_version != b"1.1" or len(said.get("content-length", ())) != 1:
        raise Refused(400, "a request here is of HTTP/1.1 and says how long it is, once")
    length = said["content-length"][0]
    if len(length) > 12 or int(length) > LARGEST_BODY:
        raise Refused(413, f"a request here is at most {LARGEST_BODY >> 20} MiB long")
    return Question(
        target=target,
        counts_only=_ANSWERED[target] != "/v1/messages",
        token=" ".join(said.get("x-api-key", ())),
        length=int(length),
        headers=[
            (name, value)
            for name, values in said.items()
            for value in values
            if value.isascii() and (name in _PASSED_ON or name.startswith(_ONES_OWN))
        ],
    )
