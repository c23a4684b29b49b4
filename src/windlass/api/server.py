"""The server: every verb as `POST /v1/<verb>`, and the event stream. Knows no service by name.

Who is asking is decided by the socket that a request came in on, and on the person's by whose
process opened the connection; never by what it says. Whether they may call a verb is decided here,
by what its route declares, before the request is read. So is how much they may have under way
(`shares`). What is large is read and written in the thread of its request; who hangs up before that
has begun has never asked.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

from windlass import __version__
from windlass.api import answers, doors, identity, shares, spare_memory
from windlass.api.bounded_http import BoundedProtocol
from windlass.api.shares import MOST_OF_ONE, SaidSoFar, Share
from windlass.api.verbs import Caller, Needs, Verb, Wait, refuse_stranger
from windlass.api.wire.request import WITHOUT_NUL
from windlass.core import agents_json, shapes
from windlass.core.errors import Denied, NotFound, Unavailable, UserError, WindlassError

log = logging.getLogger(__name__)

_KEEP_ALIVE = 15.0
_READ_AT_ONCE = 64 << 10
"""Bytes of a request that are read on the event loop: a tenth of a millisecond or so."""
_LET_IN_AT_ONCE = 2
"""Connections of a socket that one turn of the event loop takes: who opens them without end, and is
refused without end, has two parts of each turn and not all of it."""
_QUEUE = 512
"""Connections of a socket that wait to be taken."""
_WITHOUT_NUL = f"`str` matching regex {WITHOUT_NUL!r}"
"""What msgspec says that it expected, which nobody could read."""
_LARGE = 1 << 20
"""Bytes of an answer that took much memory to make."""
_ARRIVES_WITHIN = 30.0
"""Seconds that a request may take to come in: who says it slowly holds what others need."""


Feed = Callable[[Caller, Mapping[str, str]], Awaitable[AsyncIterator[dict[str, Any]]]]
"""Refuses before it gives the stream: afterwards an error can only break it off."""
Find = Callable[[socket.socket], Coroutine[Any, Any, Caller]]
"""Finds out who opened a connection to the person's socket, or refuses."""
Runner = Callable[[Caller, Needs, Callable[[], bytes]], Coroutine[Any, Any, bytes]]
"""Does something for a caller in a thread; cancelled before it has begun, it never does."""


class Server:
    """Serves verbs and events on as many sockets as there are identities."""

    def __init__(
        self, verbs: Mapping[str, Verb | Wait], feed: Feed, *, schema: int, run: Runner, find: Find
    ) -> None:
        self._verbs = verbs
        self._feed = feed
        self._schema = schema
        self._run = run
        self._find = find
        self._waiting: set[asyncio.Future[Any]] = set()
        self._states: weakref.WeakSet[ServerState] = weakref.WeakSet()
        self._of_agents: weakref.WeakSet[ServerState] = weakref.WeakSet()
        self._most_connections = shares.most_connections()
        self._open: dict[Path, tuple[asyncio.AbstractServer, Caller]] = {}
        self._entrances: dict[Caller, _Entrance] = {}
        self._strangers: set[asyncio.Task[None]] = set()
        self._app = Starlette(
            routes=[
                Route("/v1/events", self._events, methods=["GET"]),
                Route("/v1/{verb}", self._verb, methods=["POST"]),
            ]
        )

    async def listen(self, path: Path, caller: Caller) -> None:
        """Opens a socket on which everyone is `caller`; a stale file of that name is replaced.

        On the person's socket everyone is, but for those who are found to be somebody else.
        """
        if path in self._open:
            return
        self._entrances[caller] = entrance = self._entrance(caller)
        door = doors.bound(path)
        listening = await asyncio.get_running_loop().create_unix_server(
            partial(_Arrival, self._meet if caller.agent is None else entrance.admit),
            sock=door,
            backlog=_LET_IN_AT_ONCE,
        )
        door.listen(_QUEUE)
        self._open[path] = listening, caller

    def _entrance(self, caller: Caller) -> _Entrance:
        entrance = _Entrance(self._app, caller, self._is_crowded)
        self._states.add(entrance.state)
        if caller.agent is not None:
            self._of_agents.add(entrance.state)
        return entrance

    def _meet(self, transport: asyncio.Transport) -> None:
        """Has it be found out who opened a connection; until then nothing of it is read."""
        transport.pause_reading()
        task = asyncio.get_running_loop().create_task(self._let_in(transport))
        self._strangers.add(task)
        task.add_done_callback(self._strangers.discard)

    async def _let_in(self, transport: asyncio.Transport) -> None:
        """Has a connection be one of whoever opened it, as if it had come in on their socket."""
        try:
            caller = await self._find(transport.get_extra_info("socket"))
            if caller not in self._entrances:
                raise Denied(
                    "this process runs in a session of an agent that has ended",
                    "run `wl` in a terminal of your own",
                )
        except asyncio.CancelledError:
            transport.close()
            raise
        except Exception as error:  # noqa: BLE001 - told to the caller, a defect also to the log
            _hang_up(transport, answers.told("the caller", error))
            return
        self._entrances[caller].admit(transport)
        transport.resume_reading()

    async def close(self, path: Path) -> None:
        """Closes the socket at that path, if it is open."""
        if path in self._open:
            listening, caller = self._open.pop(path)
            self._entrances.pop(caller, None)
            # In this order: a socket with nobody behind it means that the daemon was killed.
            path.unlink(missing_ok=True)
            listening.close()

    async def stop(self, *, comes_back: bool = False) -> None:
        """Closes every socket and lets requests that are under way finish.

        The files of the agents' sockets stay where another daemon follows: their hooks wait for it.
        """
        for path, (listening, caller) in list(self._open.items()):
            if comes_back and caller.agent is not None:
                listening.close()
            else:
                await self.close(path)
        for waiting in (*self._waiting, *self._strangers):
            waiting.cancel()
        for connection in [
            connection for state in self._states for connection in state.connections
        ]:
            connection.shutdown()
        if tasks := [task for state in self._states for task in state.tasks]:
            await asyncio.wait(tasks, timeout=2.0)

    async def _verb(self, request: Request) -> Response:
        theirs = request.headers.get("windlass-version")
        caller: Caller = request.scope["windlass.caller"]
        is_agent = caller.agent is not None
        if theirs is not None and not identity.understands(theirs, is_agent=is_agent):
            return answers.json_reply({"version": __version__, "schema": self._schema}, status=426)
        share: Share = request.scope["windlass.share"]
        try:
            verb = self._verbs.get(request.path_params["verb"])
            if verb is None:
                raise NotFound(f"no verb {request.path_params['verb']!r}", "see `wl help --all`")
            refuse_stranger(verb, caller)
            with share.request() as said:
                body = await _body(request, said, verb.largest)
                if isinstance(verb, Verb):
                    answering = self._run(caller, verb.needs, _answering(verb, caller, body))
                    return answers.reply(await self._while_there(request, answering))
                asked = await self._read(verb, caller, body)
                with share.waiting():
                    answer = _encoded(verb.answer(caller, asked))
                    return answers.reply(await self._while_there(request, answer, self._waiting))
        except Exception as error:  # noqa: BLE001 - told to the caller, a defect also to the log
            return answers.refusal(request, error)

    async def _read(self, verb: Wait, caller: Caller, body: bytes) -> Any:
        """What is asked; in a thread where that takes long."""
        if len(body) <= _READ_AT_ONCE:
            return _decode(body, verb.request)
        asked: list[Any] = []

        def read() -> bytes:
            asked.append(_decode(body, verb.request))
            return b""

        await self._run(caller, "store", read)
        return asked[0]

    async def _while_there(
        self,
        request: Request,
        answer: Coroutine[Any, Any, bytes],
        ended_by_us: set[asyncio.Future[Any]] | None = None,
    ) -> bytes:
        """Awaits an answer as long as there is somebody to have it.

        Those among the last are given up when we stop.
        """
        coming = asyncio.ensure_future(answer)
        gone = asyncio.ensure_future(_hung_up(request))
        ours = set() if ended_by_us is None else ended_by_us
        ours.add(coming)
        try:
            await asyncio.wait({coming, gone}, return_when=asyncio.FIRST_COMPLETED)
            if coming.cancelled():
                raise Unavailable("the daemon stops", "ask the next one")
            return coming.result() if coming.done() else b"null"
        finally:
            ours.discard(coming)
            coming.cancel()
            gone.cancel()

    def _is_crowded(self) -> bool:
        """Whether the agents together have as many connections as are theirs."""
        return sum(len(state.connections) for state in self._of_agents) >= self._most_connections

    async def _events(self, request: Request) -> Response:
        caller: Caller = request.scope["windlass.caller"]
        asked = dict(request.query_params)
        resumed = request.headers.get("last-event-id")
        if resumed is not None:
            asked["after"] = resumed
        share: Share = request.scope["windlass.share"]
        try:
            with ExitStack() as counted:
                counted.enter_context(share.waiting())
                feed = await self._feed(caller, asked)
                return _Stream(feed, counted.pop_all())
        except Exception as error:  # noqa: BLE001 - as above
            return answers.refusal(request, error)


class _Arrival(asyncio.Protocol):
    """A connection that was just opened: somebody else takes it over."""

    def __init__(self, meet: Callable[[asyncio.Transport], None]) -> None:
        self._meet = meet

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Hands it over."""
        self._meet(transport)


class _Entrance:
    """Where the connections of one caller go; those of an agent have a limit.

    One too many is told so and closed, unread. Requests count as well as connections: one may be
    left behind by who hung up.
    """

    def __init__(self, app: ASGIApp, caller: Caller, is_crowded: Callable[[], bool]) -> None:
        self._config = uvicorn.Config(
            _As(app, caller), lifespan="off", access_log=False, log_config=None, ws="none"
        )
        self._config.load()
        self._bounded = caller.agent is not None
        self._is_crowded = is_crowded
        self.state = ServerState()

    def admit(self, transport: asyncio.Transport) -> None:
        """Has what comes over a connection be read and answered, or refuses it."""
        if self._bounded and max(len(self.state.connections), len(self.state.tasks)) >= MOST_OF_ONE:
            _hang_up(transport, shares.too_many_requests())
        elif self._bounded and self._is_crowded():
            _hang_up(transport, shares.too_many_connections())
        else:
            protocol = BoundedProtocol(self._config, self.state)
            transport.set_protocol(protocol)
            protocol.connection_made(transport)


def _hang_up(transport: asyncio.Transport, error: WindlassError) -> None:
    transport.write(answers.unread(error))
    transport.close()


class _As:
    """Marks every request with the identity of its socket, and with that one's share."""

    def __init__(self, app: ASGIApp, caller: Caller) -> None:
        self._app = app
        self._caller = caller
        self._share = Share(bounded=caller.agent is not None)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["windlass.caller"] = self._caller
        scope["windlass.share"] = self._share
        await self._app(scope, receive, send)


class _Stream(StreamingResponse):
    """A stream of events, counted as somebody who waits until it is over."""

    def __init__(self, feed: AsyncIterator[dict[str, Any]], counted: ExitStack) -> None:
        super().__init__(_framed(feed), media_type="text/event-stream")
        self._counted = counted

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._counted:
            await super().__call__(scope, receive, send)


async def _hung_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _framed(feed: AsyncIterator[dict[str, Any]]) -> AsyncIterator[bytes]:
    yield b": windlass events\n\n"
    coming = asyncio.ensure_future(anext(feed))
    try:
        while True:
            done, _ = await asyncio.wait({coming}, timeout=_KEEP_ALIVE)
            if not done:
                yield b": still here\n\n"
                continue
            event = coming.result()
            yield b"id: %d\ndata: %s\n\n" % (event["id"], answers.encode(event))
            coming = asyncio.ensure_future(anext(feed))
    except StopAsyncIteration:
        return
    except Exception:
        # Whoever reads asks again from the last event on, and is told if that fails.
        log.exception("an event stream broke off")
    finally:
        coming.cancel()


async def _body(request: Request, said: SaidSoFar, largest: int) -> bytes:
    """The whole request; one that nobody would type is cut off before it fills the memory."""
    parts = []
    try:
        async with asyncio.timeout(_ARRIVES_WITHIN):
            async for part in request.stream():
                if said.size + len(part) > largest:
                    raise UserError(
                        f"the request is larger than {largest >> 20} MiB", "say less at once"
                    )
                said.add(len(part))
                parts.append(part)
    except TimeoutError:
        raise Unavailable(
            f"the request was not whole after {_ARRIVES_WITHIN:.0f} s", "say it again, faster"
        ) from None
    return b"".join(parts)


def _answering(verb: Verb, caller: Caller, body: bytes) -> Callable[[], bytes]:
    """What is left to be done for a request; what is short is read now, and refused sooner."""
    if len(body) > _READ_AT_ONCE:
        return lambda: _answered(lambda: verb.answer(caller, _decode(body, verb.request)))
    asked = _decode(body, verb.request)
    return lambda: _answered(lambda: verb.answer(caller, asked))


def _answered(answer: Callable[[], Any]) -> bytes:
    encoded = answers.encode(answer())
    if len(encoded) > _LARGE:
        spare_memory.give_back()
    return encoded


async def _encoded(answer: Awaitable[Any]) -> bytes:
    return answers.encode(await answer)


def _decode(body: bytes, kind: Any) -> Any:
    """Keys that are not of the verb are passed over: a newer client may say more."""
    try:
        agents_json.require_few_values(body)
        return shapes.decode(body or b"{}", kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        said = str(error).replace(_WITHOUT_NUL, "a name without a NUL, which none can have")
        raise UserError(f"malformed request: {said}", "is the client of this version?") from None
