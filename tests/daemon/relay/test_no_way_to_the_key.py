"""However a caller asks, and whatever the model's address says back: no way to the key."""

from __future__ import annotations

import asyncio
import contextlib
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.daemon.relay.relay_bench import KEY, STREAM, RelayBench, delta, end, start

from windlass.core.crew import Agent
from windlass.daemon.relay.echoes import Echoes

PASS = "of-the-gateway-0123456789"  # noqa: S105 - of no gateway
"""What the person's own headers add."""
TARGETS = {
    f"/gate/v1/messages{more}{query}".encode()
    for more in ("", "/count_tokens")
    for query in ("", "?beta=true")
}

METHODS = ("POST", "post", "GET", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PRI")
PATHS = (
    "/v1/messages",
    "/v1/messages?beta=true",
    "/v1/messages/count_tokens",
    "/v1/messages?beta=true&x=1",
    "/v1/messages#a",
    "/v1/messages/",
    "/v1/messages/batches",
    "/v1/messages/../x",
    "/v1/./messages",
    "/v1/files/../messages",
    "//v1/messages",
    "/v1//messages",
    "/v1%2fmessages",
    "/v1/messages%2f..%2ffiles",
    "/v1/messages%3fbeta=true",
    "/v1/messages;a=b",
    "\\v1\\messages",
    "/V1/Messages",
    "/gate/v1/messages",
    "http://127.0.0.1/v1/messages",
    "http://evil.invalid/v1/messages",
    "//evil.invalid/v1/messages",
    "evil.invalid:443",
    "*",
    "/v1/messages HTTP/1.1\r\nHost: a\r\n\r\nGET /v1/files",
)
VERSIONS = ("HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/1.1 ", "")
LINES = (
    "x-api-key: {word}",
    "X-API-KEY: {word}",
    "X-Api-Key:{word}",
    "x-api-key: another",
    "x-api-key : {word}",
    " x-api-key: {word}",
    "Authorization: Bearer another",
    "AUTHORIZATION: {word}",
    "Proxy-Authorization: Basic YQ==",
    "Cookie: a=b",
    "Host: evil.invalid",
    "Content-Length: 2",
    "content-length: 2, 2",
    "Content-Length: 0",
    "Content-Length: +2",
    "Transfer-Encoding: chunked",
    "transfer-encoding: identity, chunked",
    "Transfer-Encoding:\tchunked",
    "Trailer: x-api-key",
    "TE: trailers",
    "Connection: x-api-key, keep-alive",
    "Connection: upgrade",
    "Upgrade: h2c",
    "Expect: 100-continue",
    "anthropic-beta: a",
    "anthropic-beta: a\rX-Api-Key: another",
    "anthropic-version: 2023-06-01",
    "x-stainless-x-api-key: another",
    "x-gateway-pass: another",
    "X-Forwarded-Host: evil.invalid",
    "X-HTTP-Method-Override: DELETE",
    "X-Original-URL: /v1/files",
    "Forwarded: host=evil.invalid",
)
BODIES = (
    "{{}}",
    "",
    "2\r\n{{}}\r\n0\r\nx-api-key: another\r\n\r\n",
    "{{}}POST /v1/files HTTP/1.1\r\nHost: a\r\nx-api-key: {word}\r\nContent-Length: 0\r\n\r\n",
    "{{}}POST /v1/messages HTTP/1.1\r\nx-api-key: {word}\r\nContent-Length: 2\r\n\r\n{{}}",
    "{{}}\r\n\r\nCONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
)


class Odd(NamedTuple):
    """A request that nobody should say, but for those that are quite all right."""

    method: str
    path: str
    version: str
    lines: list[str]
    body: str

    def said(self, word: str) -> bytes:
        """As it goes over the socket."""
        first = f"{self.method} {self.path} {self.version}"
        parts = (*self.lines, "", self.body)
        return "\r\n".join((first, *(part.format(word=word) for part in parts))).encode()


GOOD = ["Host: a", "x-api-key: {word}", "Content-Length: 2"]
PLAIN = Odd("POST", "/v1/messages", "HTTP/1.1", GOOD, "{{}}")
ODD = st.builds(
    Odd,
    method=st.just("POST") | st.sampled_from(METHODS),
    path=st.just("/v1/messages") | st.sampled_from(PATHS),
    version=st.just("HTTP/1.1") | st.sampled_from(VERSIONS),
    lines=st.tuples(
        st.just(GOOD) | st.just(GOOD[:2]) | st.just(GOOD[:1]),
        st.lists(st.sampled_from(LINES), max_size=4),
    ).flatmap(lambda both: st.permutations([*both[0], *both[1]])),
    body=st.sampled_from(BODIES),
)


@pytest.fixture
def fox(bench: RelayBench) -> Agent:
    """An agent whose person has its model asked through a gateway with a password of its own."""
    env = bench.bench.context.env
    assert isinstance(env, dict)
    env["ANTHROPIC_CUSTOM_HEADERS"] = f"X-Gateway-Pass: {PASS}"
    return bench.agent()


class Echoing:
    """An address that says every request back, in what it says of its answer and in the answer."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.cut = 0
        self.streamed = False

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Reads to the end of the head, and all that follows at once."""
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        self.asked.append(head + await reader.readexactly(length))
        lines = head.replace(b"\r\n", b" ").decode()
        names = ("request-id", "retry-after", "anthropic-ratelimit-x", "x-own", "set-cookie")
        also = "".join(f"{name}: {lines}\r\n" for name in names).encode()
        body = start(1) + delta(lines) + end(1) if self.streamed else head
        kind = STREAM[:-2] if self.streamed else b"HTTP/1.1 400 %b\r\n" % lines.encode()
        said = b"" if self.streamed else b"content-length: %d\r\n" % len(body)
        cut = min(self.cut, len(body))
        writer.write(kind + also + said + b"\r\n" + body[:cut])
        await writer.drain()
        await asyncio.sleep(0)  # two pieces, where the loop lets them be
        writer.write(body[cut:])
        await writer.drain()


async def tried(bench: RelayBench, agent: Agent, said: bytes) -> bytes:
    """All that comes back for it, its end being told."""
    reader, writer = await asyncio.open_unix_connection(str(bench.socket(agent)))
    heard = b""
    with contextlib.suppress(ConnectionError):
        writer.write(said)
        writer.write_eof()
        while piece := await reader.read(1 << 16):
            heard += piece
    writer.close()
    return heard


def require_ours(asked: bytes) -> None:
    """That a request is one of the two questions, with our credentials once and no others."""
    head = asked.partition(b"\r\n\r\n")[0]
    first, *lines = head.split(b"\r\n")
    method, target, version = first.split(b" ")
    assert (method, version) == (b"POST", b"HTTP/1.1")
    assert target in TARGETS
    pairs = [tuple(line.lower().split(b": ", 1)) for line in lines]
    names = [name for name, *_ in pairs]
    for name in (b"x-api-key", b"x-gateway-pass", b"host", b"content-length"):
        assert names.count(name) == 1
    assert (b"x-api-key", KEY.encode()) in pairs
    assert (b"x-gateway-pass", PASS.encode()) in pairs
    known = {b"accept-encoding", b"connection", b"anthropic-version", b"anthropic-beta"}
    known |= {b"x-api-key", b"x-gateway-pass", b"host", b"content-length"}
    assert set(names) <= known | {b"x-stainless-x-api-key"}


def play(bench: RelayBench, agent: Agent, far: Echoing, *odds: Odd) -> list[bytes]:
    """Asks all of these one after the other, and returns what came back for each."""
    bench.answering = far.answer
    heard: list[bytes] = []

    async def scenario() -> None:
        word = bench.token(agent)
        heard.extend([await tried(bench, agent, odd.said(word)) for odd in odds])

    bench.run(scenario, agent)
    assert len(far.asked) <= len(odds)
    for asked in far.asked:
        require_ours(asked)
    for secret in (KEY, PASS):
        assert not any(secret.encode() in one for one in heard)
    return heard


@pytest.mark.parametrize("streamed", [False, True])
def test_the_key_is_said_to_an_address_that_says_it_back_and_stars_arrive(
    bench: RelayBench, fox: Agent, *, streamed: bool
) -> None:
    far = Echoing()
    far.cut, far.streamed = 300, streamed
    (heard,) = play(bench, fox, far, PLAIN)
    assert len(far.asked) == 1
    assert b"*" * len(KEY) in heard


def test_each_oddity_by_itself_reaches_nobody_or_does_no_harm(
    bench: RelayBench, fox: Agent
) -> None:
    odds = [
        *(PLAIN._replace(method=method) for method in METHODS),
        *(PLAIN._replace(path=path) for path in PATHS),
        *(PLAIN._replace(version=version) for version in VERSIONS),
        *(PLAIN._replace(lines=[*GOOD, line]) for line in LINES),
        *(PLAIN._replace(lines=[line, *GOOD]) for line in LINES),
        *(PLAIN._replace(body=body) for body in BODIES),
    ]
    far = Echoing()
    heard = play(bench, fox, far, *odds)
    assert len(heard) == len(odds)
    assert len(far.asked) > len(TARGETS)


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
@given(odd=ODD, cut=st.integers(0, 400), streamed=st.booleans())
def test_only_the_two_questions_with_our_key_arrive_and_nothing_of_it_comes_back(
    bench: RelayBench, fox: Agent, odd: Odd, cut: int, *, streamed: bool
) -> None:
    far = Echoing()
    far.cut, far.streamed = cut, streamed
    play(bench, fox, far, odd)


@given(cuts=st.lists(st.integers(0, 300), max_size=6), rounds=st.integers(1, 3))
def test_a_secret_is_taken_out_wherever_an_answer_is_cut(cuts: list[int], rounds: int) -> None:
    pieces = f"{KEY[:20]}{KEY}sk-ant{PASS[:9]}{PASS} x ".encode() * rounds
    echoes = Echoes({"x-api-key": KEY, "x-gateway-pass": PASS, "x-team": "a-team-of-long-name"})
    heard, before = b"", 0
    for at in sorted({min(cut, len(pieces)) for cut in cuts} | {len(pieces)}):
        heard += echoes.without(pieces[before:at])
        before = at
    heard += echoes.rest()
    assert heard == pieces.replace(KEY.encode(), b"*" * len(KEY)).replace(
        PASS.encode(), b"*" * len(PASS)
    )


def test_what_is_short_or_no_secret_stays_in_answers() -> None:
    echoes = Echoes({"x-api-key": "test", "x-team": "a-team-of-a-long-name"})
    said = b"a test of a-team-of-a-long-name"
    assert echoes.without(said) + echoes.rest() == said


@pytest.mark.parametrize("what", ["Basic 0123456789abcdef=", "a=0123456789abcdef; b=1"])
def test_of_a_value_of_many_words_the_secret_one_is_taken_out(what: str) -> None:
    echoes = Echoes({"authorization": what})
    assert echoes.is_in(what.encode())
    assert b"0123456789abcdef" not in echoes.without(what.encode())
