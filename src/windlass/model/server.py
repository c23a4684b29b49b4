"""The scripted model: listens on 127.0.0.1 and plays scripts to whoever speaks the Messages API.

Owns the listening socket, its threads and what is remembered between requests. `serving.py` speaks
HTTP for it.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from http.server import ThreadingHTTPServer
from typing import Any, Self

from windlass.core.errors import Unavailable
from windlass.core.script.format import Text
from windlass.model import wire
from windlass.model.cast import Cast, Playable, as_script
from windlass.model.conversation import Reply, ScriptedConversation
from windlass.model.http_handler import Handler
from windlass.model.log import Request, RequestLog
from windlass.model.request import Asked

HOST = "127.0.0.1"
SUMMARY = (
    "<analysis>\nThe conversation was read from its beginning.\n</analysis>\n\n"
    "<summary>\nThe work goes on where it was.\n</summary>"
)


class Model:
    """A model that says what a script says; use it as a context manager.

    Without a script it does what the stand-in does without one. `on_request` is called
    with every request.
    """

    def __init__(
        self,
        script: Playable | None = None,
        *,
        port: int = 0,
        on_request: Callable[[Request], None] | None = None,
    ) -> None:
        default = None if script is None else as_script(script)
        self._casting = Cast(default, salt=os.urandom(8).hex())
        self.log = RequestLog(on_request)
        self._playing = threading.Lock()
        try:
            self._server = _Server(self, port)
        except (OSError, OverflowError) as error:
            why = getattr(error, "strerror", None) or error
            raise Unavailable(
                f"cannot listen on {HOST}:{port}: {why}",
                "choose another --port, or 0 for a free one",
            ) from None
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends every answer that is under way and stops listening."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.end_connections()
        self._server.server_close()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """The address for ANTHROPIC_BASE_URL."""
        return f"http://{HOST}:{self.port}"

    @property
    def requests(self) -> list[Request]:
        """What came in so far, in order."""
        return self.log.all()

    def wait_for(self, test: Callable[[Request], bool], *, within: float = 20.0) -> Request:
        """Returns the first request that passes a test, waiting for it if need be."""
        return self.log.wait_for(test, within=within)

    def play(self, script: Playable | None) -> None:
        """Gives conversations that begin from now on another script."""
        with self._playing:
            self._casting.default = None if script is None else as_script(script)

    def for_session(self, session: str, script: Playable) -> None:
        """Gives a session a script of its own; one under way begins it with its next message."""
        with self._playing:
            self._casting.sessions[session] = as_script(script)

    def for_prompt(self, pattern: str, script: Playable) -> None:
        """Gives a script to conversations whose first prompt matches; the latest given wins."""
        with self._playing:
            self._casting.add_prompt(pattern, as_script(script))

    def answer(self, asked: Asked) -> tuple[int, Reply, ScriptedConversation | None]:
        """Decides what to answer, and records it."""
        with self._playing:
            if asked.kind == "side":
                return self._aside(asked, wire.example(asked.schema))
            if asked.kind == "compact":
                known = self._casting.known(asked)
                if known:
                    known.settle(asked)
                return self._aside(asked, SUMMARY)
            conversation = self._casting.conversation(asked)
            news = conversation.news(asked)
            reply = conversation.answer(asked)
            status = reply.error.status if reply.error else 200
            number = self.log.add(asked.kind, asked=asked, status=status, news=news, reply=reply)
            return number, reply, conversation

    def broke_off(self, conversation: ScriptedConversation | None, reply: Reply, done: int) -> None:
        """Says that a reply was not delivered to its end."""
        with self._playing:
            if conversation is not None:
                conversation.broke_off(reply, done)

    def _aside(self, asked: Asked, text: str) -> tuple[int, Reply, None]:
        reply = Reply(f"msg_{os.urandom(12).hex()}", steps=(Text(text),))
        return self.log.add(asked.kind, asked=asked, reply=reply), reply, None


class _Server(ThreadingHTTPServer):
    """Threads of its own for every connection, and a way to end them all."""

    daemon_threads = False
    request_queue_size = 128

    def __init__(self, model: Model, port: int) -> None:
        self.model = model
        self.ending = threading.Event()
        self._open: set[socket.socket] = set()
        self._opening = threading.Lock()
        super().__init__((HOST, port), Handler)

    def server_bind(self) -> None:
        """Binds without asking a name server who we are."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = HOST, int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remembers the connection until it ends."""
        with self._opening:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forgets the connection."""
        with self._opening:
            self._open.discard(request)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        """Wakes every thread that waits for its client."""
        self.ending.set()
        with self._opening:
            for connection in self._open:
                try:
                    connection.shutdown(socket.SHUT_RDWR)
                except OSError:
                    continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Leaves one broken connection at that; the default would print a traceback."""
