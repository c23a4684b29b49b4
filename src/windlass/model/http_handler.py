"""HTTP for the scripted model: one connection, one request, one answer."""

from __future__ import annotations

import logging
import select
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

import msgspec

from windlass.core.errors import WindlassError
from windlass.core.script.format import Crash, Pause
from windlass.model import wire
from windlass.model.conversation import Reply, ScriptedConversation
from windlass.model.peer import signal_peer
from windlass.model.request import Asked, Malformed, decoded, read

if TYPE_CHECKING:
    from windlass.model.server import Model

log = logging.getLogger(__name__)

LARGEST = 64 * 1024 * 1024
PATIENCE = 60.0
PING_EVERY = 5.0


class _Refused(Exception):
    """The request is answered with an error."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class _Gone(Exception):
    """The client is not there any more."""


class _Crashed(Exception):
    """The script ended the client."""


class Handler(BaseHTTPRequestHandler):
    """Answers one request and closes the connection, as the client expects of a stream."""

    protocol_version = "HTTP/1.1"
    server_version = "windlass"
    sys_version = ""
    timeout = PATIENCE
    disable_nagle_algorithm = True

    @property
    def _model(self) -> Model:
        return cast("Model", self.server.model)  # type: ignore[attr-defined]

    def do_POST(self) -> None:
        """Answers the API, and takes scripts."""
        self._answer(
            {
                "/v1/messages": self._messages,
                "/v1/messages/count_tokens": self._count,
                "/_script": self._script,
            }
        )

    def do_GET(self) -> None:
        """Lists the requests so far."""
        self._answer({"/_requests": self._requests})

    do_HEAD = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_GET  # noqa: N815 - as inherited

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is inherited
        """Keeps quiet: the log of requests says it better."""

    def _answer(self, routes: Mapping[str, Any]) -> None:
        self.close_connection = True
        try:
            self._check_origin()
            body = self._body()
            route = routes.get(self.path.partition("?")[0])
            if route is None:
                raise _Refused(404, "Not found")
            route(body)
        except _Refused as refused:
            if self.command == "POST":  # the program begins with a HEAD / that says nothing
                self._model.log.end(self._model.log.add("bad", status=refused.status), "answered")
            self._send(refused.status, wire.failure(refused.status, refused.message))
        except (OSError, _Gone):  # the client left, which is its right
            return
        except Exception:  # a defect of ours must not take the server with it
            log.exception("the scripted model could not answer %s", self.path)
            self._send(500, wire.failure(500))

    def _check_origin(self) -> None:
        """Web pages may not use it, not even through a name that leads to this machine."""
        host = (self.headers.get("host") or "").rpartition(":")[0] or self.headers.get("host")
        if host not in {"127.0.0.1", "localhost"} or self.headers.get("origin"):
            raise _Refused(403, "only programs on this machine may ask")

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding"):
            raise _Refused(411, "the body needs a content-length")
        length = self.headers.get("content-length") or "0"
        if not length.isascii() or not length.isdigit():
            raise _Refused(400, "content-length is not a number")
        if int(length) > LARGEST:
            raise _Refused(413, "Request exceeds the maximum size")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise _Gone
        return body

    def _messages(self, body: bytes) -> None:
        try:
            asked = read(body, {name.lower(): value for name, value in self.headers.items()})
        except Malformed as malformed:
            raise _Refused(400, str(malformed)) from None
        number, reply, conversation = self._model.answer(asked)
        try:
            self._reply(asked, reply, conversation)
        except _Crashed:
            self._model.log.end(number, "crashed")
        except (OSError, _Gone):
            self._model.log.end(number, "broken")
        else:
            self._model.log.end(number, "answered")

    def _reply(self, asked: Asked, reply: Reply, conversation: ScriptedConversation | None) -> None:
        if reply.error:
            body = wire.failure(reply.error.status, reply.error.message)
            self._send(reply.error.status, body, wire.retry_after(reply.error))
            return
        done = 0
        try:
            if asked.stream:
                self._head(200, {"content-type": "text/event-stream", "cache-control": "no-cache"})
                self.wfile.write(wire.opening(reply, asked.model))
            index = 0
            for step in reply.steps:
                if isinstance(step, Pause):
                    self._pause(step.seconds, ping=asked.stream)
                elif isinstance(step, Crash):
                    self._crash(step.signal)
                elif asked.stream:
                    self.wfile.write(wire.block(index, step))
                    index += 1
                done += 1
            if asked.stream:
                self.wfile.write(wire.closing(reply))
            else:
                self._send(200, wire.whole(reply, asked.model))
        except (OSError, _Gone):
            self._model.broke_off(conversation, reply, done)
            raise

    def _pause(self, seconds: float, *, ping: bool) -> None:
        """Lets time pass, notices a client that leaves, and shows it that the stream is alive."""
        end = monotonic() + seconds
        while (left := end - monotonic()) > 0:
            poller = select.poll()
            poller.register(self.connection, select.POLLIN)
            if poller.poll(min(left, PING_EVERY) * 1000):
                raise _Gone  # it closed, or says more on a connection that is about to close
            if ping and end > monotonic():
                self.wfile.write(wire.PING)

    def _crash(self, number: int) -> None:
        """Ends the client by a signal, and the connection with it."""
        client, server = self.connection.getpeername(), self.connection.getsockname()
        pid = signal_peer(client, server, number)
        if pid is None:
            log.warning("nobody to crash at the other end of %s:%s: connection dropped", *client)
        raise _Crashed

    def _count(self, body: bytes) -> None:
        self._model.log.end(self._model.log.add("count"), "answered")
        self._send(200, msgspec.json.encode({"input_tokens": max(1, len(body) // 4)}))

    def _script(self, body: bytes) -> None:
        """Takes a script from another process: for a session, a first prompt, or everybody."""
        try:
            data = decoded(body)
            script, session, prompt = data["script"], data.get("session"), data.get("prompt")
            if session is not None:
                self._model.for_session(str(session), script)
            elif prompt is not None:
                self._model.for_prompt(str(prompt), script)
            else:
                self._model.play(script)
        except KeyError:
            raise _Refused(400, "'script' is missing") from None
        except (Malformed, WindlassError) as error:
            raise _Refused(400, str(error)) from None
        self._send(200, b'{"ok":true}')

    def _requests(self, _: bytes) -> None:
        self._send(200, msgspec.json.encode(self._model.requests))

    def _send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        usual = {"content-type": "application/json", "content-length": str(len(body))}
        try:
            self._head(status, {**usual, **(headers or {})})
            if self.command != "HEAD":
                self.wfile.write(body)
        except OSError as error:
            raise _Gone from error

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response_only(status)
        for name, value in {**headers, "connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
