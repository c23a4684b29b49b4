"""The server: malformed requests, streams that cannot start, streams that end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypedDict

import pytest
from tests.support.ground import until

from windlass.api import client, places
from windlass.api.server import Server
from windlass.api.shares import MOST_OF_ONE
from windlass.api.verbs import Caller, Needs, Verb, Wait
from windlass.core.agents_json import MOST_VALUES
from windlass.core.errors import Denied, Internal, NotFound, Unavailable, UserError
from windlass.core.ids import Uid

_ECHO = b'POST /v1/echo HTTP/1.0\r\nContent-Length: 13\r\n\r\n{"text": "x"}'


class Asked(TypedDict):
    """A request with one word that it needs."""

    text: str


class Serving:
    """A server on a loop of its own, and a feed that the test holds."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.events: list[dict[str, Any]] = []
        self.refuses: Exception | None = None
        self.breaks: Exception | None = None
        self.ended: list[str] = []
        self.begun = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.word: asyncio.Future[str] = self.loop.create_future()
        self.given_up = 0
        self.met = 0
        self.found: Caller | None = Caller(None)
        """Who calls on the person's socket; None for somebody who is refused."""
        verbs: dict[str, Verb | Wait] = {
            "wait": Wait(dict[str, Any], str, self._wait, callers="both"),
            "echo": Verb(
                Asked, Any, lambda caller, asked: {"agent": caller.agent, **asked}, callers="both"
            ),
            "fail": Verb(dict[str, Any], Any, self._fail),
            "fill": Verb(dict[str, Any], Any, self._fill),
            "odd": Verb(dict[str, Any], Any, lambda _caller, _asked: {"name": "a\udcff"}),
        }
        self.server = Server(verbs, self._feed, schema=1, run=self._run, find=self._find)
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()

    def do(self, work: Any) -> Any:
        """Runs something on the server's loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def leave(self) -> None:
        """Ends the loop."""
        self.do(self.server.stop())
        self.do(asyncio.sleep(0))
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    async def _find(self, _connection: socket.socket) -> Caller:
        self.met += 1
        await self.gate.wait()
        if self.found is None:
            raise Denied("nobody's", "go away")
        return self.found

    async def _run(self, _caller: Caller, _needs: Needs, work: Callable[[], bytes]) -> bytes:
        self.begun += 1
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        return work()

    def _fail(self, _caller: Caller, _asked: Any) -> None:
        raise ZeroDivisionError("by \udcff")

    def _fill(self, _caller: Caller, _asked: Any) -> None:
        with Path("/dev/full").open("wb", buffering=0) as file:
            file.write(b"x")

    async def _wait(self, _caller: Caller, _asked: Any) -> str:
        self.begun += 1
        try:
            return await asyncio.shield(self.word)
        except asyncio.CancelledError:
            self.given_up += 1
            raise

    async def _feed(
        self, _caller: Caller, _asked: Mapping[str, str]
    ) -> AsyncIterator[dict[str, Any]]:
        if self.refuses is not None:
            raise self.refuses
        return self._stream()

    async def _stream(self) -> AsyncIterator[dict[str, Any]]:
        for event in self.events:
            yield event
        self.ended.append("stream")
        if self.breaks is not None:
            raise self.breaks


@pytest.fixture
def serving(short: Path) -> Iterator[Serving]:
    """A server that answers the person on the person's socket."""
    assert short.exists()
    made = Serving()
    made.do(made.server.listen(Path(places.person_socket()), Caller(None)))
    yield made
    made.leave()


def test_who_asks_is_decided_by_the_socket(serving: Serving, short: Path) -> None:
    path = short / "rt" / "a1"
    serving.do(serving.server.listen(path, Caller(Uid("a1"))))
    assert client.ask("echo", {"text": "x"}) == {"agent": None, "text": "x"}
    assert client.ask("echo", {"text": "x"}, path=str(path)) == {"agent": "a1", "text": "x"}


def test_who_is_found_to_be_an_agent_on_the_persons_socket_is_that_agent(
    serving: Serving, short: Path
) -> None:
    serving.do(serving.server.listen(short / "rt" / "a1", Caller(Uid("a1"))))
    serving.found = Caller(Uid("a1"))
    assert client.ask("echo", {"text": "x"}) == {"agent": "a1", "text": "x"}
    with pytest.raises(Denied):
        client.ask("fail", {})


@pytest.mark.parametrize(
    ("found", "told"),
    [(None, "nobody's"), (Caller(Uid("a1")), "a session of an agent that has ended")],
)
def test_who_can_be_nobody_is_refused_however_much_they_say(
    serving: Serving, found: Caller | None, told: str
) -> None:
    serving.found = found
    for text in ("x", "x" * 1_000_000):
        with pytest.raises(Denied, match=told):
            client.ask("echo", {"text": text})
    assert serving.begun == 0


def test_nothing_is_done_for_a_caller_before_it_is_known_who_it_is(serving: Serving) -> None:
    serving.loop.call_soon_threadsafe(serving.gate.clear)
    with connected(Path(places.person_socket())) as client:
        client.sendall(_ECHO)
        until(lambda: serving.met == 1, what="the caller")
        assert serving.begun == 0
        serving.loop.call_soon_threadsafe(serving.gate.set)
        assert client.recv(4096).startswith(b"HTTP/1.1 200")
    assert serving.begun == 1


def test_a_server_that_stops_hangs_up_on_those_whom_it_does_not_know_yet(serving: Serving) -> None:
    serving.loop.call_soon_threadsafe(serving.gate.clear)
    with connected(Path(places.person_socket())) as client:
        client.sendall(_ECHO)
        until(lambda: serving.met == 1, what="the caller")
        serving.do(serving.server.stop())
        with contextlib.suppress(ConnectionResetError):
            assert client.recv(4096) == b""
    assert serving.begun == 0


def connected(path: Path) -> socket.socket:
    """A connection that says nothing yet."""
    made = socket.socket(socket.AF_UNIX)
    made.connect(str(path))
    return made


def answers(path: Path) -> bool:
    """Whether somebody is let in there."""
    try:
        return bool(client.ask("echo", {"text": "x"}, path=str(path), timeout=60))
    except Unavailable:
        return False


def test_an_agent_with_too_many_connections_is_told_so_and_nobody_else_notices(
    serving: Serving, short: Path
) -> None:
    path, other = short / "rt" / "a1", short / "rt" / "a2"
    for each in (path, other):
        serving.do(serving.server.listen(each, Caller(Uid(each.name))))
    held = [connected(path) for _ in range(MOST_OF_ONE)]
    with pytest.raises(Unavailable, match=f"{MOST_OF_ONE} requests of yours are under way"):
        client.ask("echo", {"text": "x" * 1_000_000}, path=str(path))
    assert client.ask("echo", {"text": "x"}) == {"agent": None, "text": "x"}
    assert answers(other)
    held.pop().close()
    until(lambda: answers(path), what="room")
    for connection in held:
        connection.close()


def test_a_request_whose_caller_hung_up_before_it_began_is_never_begun(
    serving: Serving, short: Path
) -> None:
    path = short / "rt" / "a1"
    serving.do(serving.server.listen(path, Caller(Uid("a1"))))
    serving.loop.call_soon_threadsafe(serving.gate.clear)
    for number in range(2 * MOST_OF_ONE):  # none of them counts once its caller is gone
        with connected(path) as client:
            client.sendall(_ECHO)
            until(lambda number=number: serving.begun > number, what="the request")  # type: ignore[misc]
        until(lambda number=number: serving.given_up > number, what="its end")  # type: ignore[misc]
    serving.loop.call_soon_threadsafe(serving.gate.set)
    assert answers(path)


def test_a_verb_that_does_not_exist_is_not_found(serving: Serving) -> None:
    assert serving.events == []
    with pytest.raises(NotFound, match="no verb 'nope'"):
        client.ask("nope", {})


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"7",
        b'"x"',
        b"{}",
        b"",
        b'{"text": 7}',
        b'{"text": "\xff"}',
        b'{"text": "\\ud800"}',
        b'{"text": "x", "more": ' + b"[" * 100_000,
        b'{"text": "x", "more": [' + b"[]," * MOST_VALUES + b"0]}",
    ],
)
def test_a_malformed_request_is_the_callers_fault(
    serving: Serving, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    assert serving.events == []
    monkeypatch.setattr(client, "_encode", lambda _: body)
    with pytest.raises(UserError, match="malformed request"):
        client.ask("echo", {})


@pytest.mark.parametrize(
    "more",
    [b"a:\r\n" * 200 + b"Content-Length: 13\r\n", b"Transfer-Encoding: chunked\r\n"],
    ids=["a head of many lines", "a body in chunks"],
)
def test_what_takes_long_to_parse_is_refused_unread(serving: Serving, more: bytes) -> None:
    said = b"POST /v1/echo HTTP/1.1\r\nHost: a\r\n" + more + b'\r\n{"text": "x"}'
    with connected(Path(places.person_socket())) as caller:
        caller.sendall(said)
        assert caller.recv(100).startswith(b"HTTP/1.1 400 ")
    assert serving.begun == 0


def test_keys_that_a_verb_does_not_know_are_passed_over(serving: Serving) -> None:
    """So that a newer client may say more than this daemon understands."""
    assert serving.events == []
    answer = client.ask("echo", {"text": "x", "more": {"deep": [1]}})
    assert answer == {"agent": None, "text": "x"}


def test_a_defect_is_told_as_one_whatever_its_words(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert serving.events == []
    logged: list[logging.LogRecord] = []
    # Not through caplog: what it captures cannot leave a test worker unless it is UTF-8.
    monkeypatch.setattr(logging.getLogger("windlass.api.answers"), "handle", logged.append)
    with pytest.raises(Internal, match="fail: ZeroDivisionError: by \udcff"):
        client.ask("fail", {})
    assert logged[0].exc_info is not None


def test_a_full_disk_is_no_defect(serving: Serving) -> None:
    assert serving.events == []
    with pytest.raises(Unavailable, match=r"fill: .*No space left on device") as refused:
        client.ask("fill", {})
    assert refused.value.hint == "free some disk space and try again"


def test_a_name_that_is_not_utf8_can_be_answered_and_told_of(serving: Serving) -> None:
    assert client.ask("odd", {}) == {"name": "a\udcff"}
    serving.events = [{"id": 1, "name": "a\udcff"}]
    assert list(client.stream(0, cwd="/")) == serving.events


def test_a_feed_that_refuses_is_told(serving: Serving, caplog: pytest.LogCaptureFixture) -> None:
    serving.refuses = NotFound("no agent 'x'", "look")
    with pytest.raises(NotFound, match="no agent 'x'"):
        next(client.stream(0, cwd="/"))
    serving.refuses = OverflowError("too large")
    with pytest.raises(Internal, match="events: OverflowError: too large"):
        next(client.stream(0, cwd="/"))
    assert "OverflowError" in caplog.text


def test_a_feed_that_is_closed_ends_the_stream_and_is_no_error(
    serving: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    assert list(client.stream(0, cwd="/")) == []
    serving.events = [{"id": 1}, {"id": 2}]
    assert list(client.stream(0, cwd="/")) == serving.events
    assert caplog.text == ""


def test_a_feed_that_fails_later_breaks_off_after_what_it_told(
    serving: Serving, caplog: pytest.LogCaptureFixture
) -> None:
    serving.events = [{"id": 1}]
    serving.breaks = ZeroDivisionError("later")
    assert list(client.stream(0, cwd="/")) == serving.events
    until(lambda: "an event stream broke off" in caplog.text, what="the log line")


def test_a_server_that_stops_leaves_no_socket_behind(serving: Serving) -> None:
    """That is how followers tell that it was stopped from that it was killed."""
    path = Path(places.person_socket())
    assert path.stat().st_mode & 0o777 == 0o600
    serving.do(serving.server.stop())
    assert not path.exists()
    with pytest.raises(client.Stopped):
        client.ask("echo", {"text": "x"})


_WAIT = b"POST /v1/wait HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}"


def test_who_waits_is_answered_when_there_is_an_answer(serving: Serving) -> None:
    with connected(Path(places.person_socket())) as client:
        client.sendall(_WAIT)
        until(lambda: serving.begun == 1, what="the request")
        serving.loop.call_soon_threadsafe(serving.word.set_result, "now")
        answer = b"".join(iter(lambda: client.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 200")
    assert answer.endswith(b'"now"')


def test_nothing_goes_on_for_one_who_waited_and_hung_up(serving: Serving) -> None:
    with connected(Path(places.person_socket())) as client:
        client.sendall(_WAIT)
        until(lambda: serving.begun == 1, what="the request")
        assert serving.given_up == 0
    until(lambda: serving.given_up == 1, what="the end of the waiting")


def test_a_server_that_stops_lets_those_go_who_wait(serving: Serving) -> None:
    with connected(Path(places.person_socket())) as client:
        client.sendall(_WAIT)
        until(lambda: serving.begun == 1, what="the request")
        serving.do(serving.server.stop())
        answer = b"".join(iter(lambda: client.recv(4096), b""))
    assert b"the daemon stops" in answer
