"""Asking the model for agents in boxes: what passes, what is refused, what is counted, and ends."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from tests.daemon.relay.relay_bench import (
    KEY,
    MILLION,
    STREAM,
    RelayBench,
    delta,
    end,
    start,
    whole,
)
from tests.support.ground import until

from windlass.api.bounded_http import LARGEST_HEAD, MOST_LINES
from windlass.core.crew import Agent, Limits
from windlass.core.ids import Uid
from windlass.core.usage import Usage
from windlass.daemon.relay import questions, relay, strangers
from windlass.daemon.relay.questions import Peer
from windlass.store import rows


def paused(bench: RelayBench, agent: Agent) -> bool:
    """Whether an agent's session was stopped."""
    found = bench.bench.store.read(lambda c: rows.agent(c, agent.uid))
    return found is not None and found.state == "paused"


def test_a_question_goes_to_the_model_with_the_key_and_none_of_the_callers_words_about_itself(
    bench: RelayBench,
) -> None:
    fox = bench.agent()
    heard = []

    async def scenario() -> None:
        question = bench.question(
            fox,
            "Authorization: Bearer stolen",
            "Cookie: a=b",
            "anthropic-beta: one,two",
            "x-forwarded-host: evil",
            "Connection: keep-alive, x-api-key",
            body=b'{"model": "m"}',
        )
        heard.append(await bench.say(fox, question))

    bench.run(scenario, fox)
    (asked,) = bench.asked
    head, _, body = asked.partition(b"\r\n\r\n")
    first, *headers = head.decode().split("\r\n")
    said = dict(line.lower().split(": ", 1) for line in headers)
    assert first == "POST /gate/v1/messages?beta=true HTTP/1.1"
    assert body == b'{"model": "m"}'
    assert said.pop("host").startswith("127.0.0.1:")
    assert said == {
        "content-length": "14",
        "accept-encoding": "identity",
        "connection": "close",
        "x-api-key": KEY,
        "anthropic-version": "2023-06-01",
        "anthropic-beta": "one,two",
    }
    assert heard[0].startswith(b"HTTP/1.1 200")
    assert KEY.encode() not in heard[0]


REFUSED = {
    "another path": (b"POST /v1/files HTTP/1.1", 404),
    "a path that leads elsewhere": (b"POST /v1/messages/../files HTTP/1.1", 404),
    "batches": (b"POST /v1/messages/batches HTTP/1.1", 404),
    "another query": (b"POST /v1/messages?a=b HTTP/1.1", 404),
    "a whole address": (b"POST http://other/v1/messages HTTP/1.1", 404),
    "two slashes": (b"POST //other/v1/messages HTTP/1.1", 404),
    "GET": (b"GET /v1/messages HTTP/1.1", 404),
    "DELETE": (b"DELETE /v1/messages HTTP/1.1", 404),
    "CONNECT": (b"CONNECT api.anthropic.com:443 HTTP/1.1", 404),
    "HTTP/1.0": (b"POST /v1/messages HTTP/1.0", 400),
    "no HTTP": (b"RELAY 127.0.0.1:22", 400),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
}


@pytest.mark.parametrize("what", REFUSED)
def test_only_the_two_questions_are_asked(bench: RelayBench, what: str) -> None:
    first, status = REFUSED[what]
    fox = bench.agent()

    async def scenario() -> None:
        rest = bench.question(fox).partition(b"\r\n")[2]
        heard = await bench.say(fox, first, b"\r\n", rest)
        assert heard.startswith(b"HTTP/1.1 %d " % status)
        assert b'"type": "error"' in heard

    bench.run(scenario, fox)
    assert bench.asked == []


AMBIGUOUS = {
    "a chunked body": ("Transfer-Encoding: chunked",),
    "an encoded body": ("Content-Encoding: gzip",),
    "two lengths": ("Content-Length: 99",),
    "an upgrade": ("Connection: upgrade", "Upgrade: h2c"),
    "a wait for leave": ("Expect: 100-continue",),
    "a space in a name": ("x-api-key : a",),
    "a bare name": ("nothing",),
    "a NUL": ("anthropic-beta: a\0b",),
    "another key as well": ("x-api-key: another",),
}


@pytest.mark.parametrize("what", AMBIGUOUS)
def test_what_could_be_read_in_two_ways_is_refused(bench: RelayBench, what: str) -> None:
    fox = bench.agent()

    async def scenario() -> None:
        heard = await bench.say(fox, bench.question(fox, *AMBIGUOUS[what]))
        assert heard.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 403 "))

    bench.run(scenario, fox)
    assert bench.asked == []


def test_a_second_question_behind_the_first_reaches_nobody(bench: RelayBench) -> None:
    fox = bench.agent()

    async def scenario() -> None:
        smuggled = bench.question(fox, body=b'{"smuggled": 1}')
        heard = await bench.say(fox, bench.question(fox) + smuggled)
        assert heard.count(b"HTTP/1.1") == 1

    bench.run(scenario, fox)
    assert len(bench.asked) == 1
    assert b"smuggled" not in bench.asked[0]


def test_heads_and_bodies_have_a_largest_size(bench: RelayBench) -> None:
    fox = bench.agent()

    async def scenario() -> None:
        huge = bench.question(fox, f"anthropic-beta: {'x' * LARGEST_HEAD}")
        assert (await bench.say(fox, huge)).startswith(b"HTTP/1.1 400 ")
        many = bench.question(fox, *("a:" for _ in range(MOST_LINES)))
        assert (await bench.say(fox, many)).startswith(b"HTTP/1.1 400 ")
        (length,) = [x for x in bench.question(fox).split(b"\r\n") if x.startswith(b"Content-L")]
        for size in (questions.LARGEST_BODY + 1, 10**30):
            said = bench.question(fox).replace(length, b"Content-Length: %d" % size)
            reader, writer = await asyncio.open_unix_connection(str(bench.socket(fox)))
            writer.write(said)
            writer.write_eof()
            assert (await reader.readline()).startswith(b"HTTP/1.1 4")
            writer.close()

    bench.run(scenario, fox)
    assert bench.asked == []


def test_only_a_boxed_session_asks_and_only_with_what_it_was_given(bench: RelayBench) -> None:
    fox, owl = bench.agent("fox"), bench.agent("owl")
    cub = bench.agent("cub", isolation="hooks")

    async def scenario() -> None:
        for at, said in (
            (fox, bench.question(owl)),
            (cub, bench.question(cub)),
            (fox, bench.question(fox).replace(b"x-api-key", b"x-no-key")),
        ):
            assert (await bench.say(at, said)).startswith(b"HTTP/1.1 403 ")

    bench.run(scenario, fox, owl, cub)
    assert bench.asked == []


def test_a_token_of_a_subscription_is_never_sent(
    bench: RelayBench, caplog: pytest.LogCaptureFixture
) -> None:
    (bench.bench.folder / "key").write_text("sk-ant-oat01-of-a-subscription\n")
    fox = bench.agent()

    async def scenario() -> None:
        heard = await bench.say(fox, bench.question(fox))
        assert heard.startswith(b"HTTP/1.1 403 ")

    bench.run(scenario, fox)
    assert bench.asked == []
    assert "token_file" in caplog.text


BROKEN = {
    "a key that is gone": ("", 403, "claude.api_key_file"),
    "an address that nobody answers at": ("http://127.0.0.1:1/of-the-person", 502, "127.0.0.1"),
    "an address of no name": ("http://of-the-person.invalid/", 502, "of-the-person.invalid"),
    "an address that is none": ("ftp://me:of-the-person@gate", 403, "ftp://gate"),
    "a port that is none": ("http://of-the-person:99999", 403, "Port out of range"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_what_is_the_persons_stands_in_their_log_once_and_not_in_the_box(
    bench: RelayBench, caplog: pytest.LogCaptureFixture, what: str
) -> None:
    url, status, noted = BROKEN[what]
    fox = bench.agent()
    if not url:
        (bench.bench.folder / "key").rename(bench.bench.folder / "gone")

    async def scenario() -> None:
        env = bench.bench.context.env
        assert isinstance(env, dict)
        env["ANTHROPIC_BASE_URL"] = url or env["ANTHROPIC_BASE_URL"]
        for _ in range(2):
            heard = (await bench.say(fox, bench.question(fox))).decode()
            assert heard.startswith(f"HTTP/1.1 {status} ")
            assert "the daemon's log" in heard or "is none that can be asked" in heard
            for theirs in (str(bench.bench.folder), "api_key_file", "of-the-person", "127.0.0.1"):
                assert theirs not in heard

    bench.run(scenario, fox)
    assert bench.asked == []
    (warning,) = [record for record in caplog.records if record.name.endswith("relay.relay")]
    assert noted in warning.getMessage()
    assert "me:of-the-person" not in caplog.text
    assert KEY not in caplog.text


def test_answers_are_counted_in_one_piece_and_as_streams(bench: RelayBench) -> None:
    fox = bench.agent()

    async def scenario() -> None:
        bench.answering = bench.answer_with(whole(Usage(input_tokens=MILLION // 10)))
        await bench.say(fox, bench.question(fox))
        assert bench.spent(fox) == pytest.approx(0.5)
        stream = start(MILLION // 10) + delta("a word") + end(10_000)
        bench.answering = bench.answer_with(STREAM, stream[:40], stream[40:90], stream[90:])
        heard = await bench.say(fox, bench.question(fox))
        assert b"message_stop" in heard
        assert bench.spent(fox) == pytest.approx(0.5 + 0.5 + 0.25)

    bench.run(scenario, fox)
    (row,) = bench.bench.view(by="model")["rows"]
    assert (row["name"], row["input_tokens"], row["output_tokens"]) == (
        "claude-opus-4-8",
        MILLION // 5,
        10_000,
    )


def test_errors_and_counting_tokens_cost_nothing_and_pass(bench: RelayBench) -> None:
    fox = bench.agent()
    busy = whole(
        Usage(input_tokens=9), status="529 Busy", more="retry-after: 3\r\nlocation: /a\r\n"
    )

    async def scenario() -> None:
        bench.answering = bench.answer_with(busy)
        heard = await bench.say(fox, bench.question(fox))
        assert heard.startswith(b"HTTP/1.1 529 ")
        assert b"retry-after: 3" in heard
        assert b"location" not in heard
        bench.answering = bench.answer_with(whole(Usage(input_tokens=9)))
        question = bench.question(fox).replace(b"messages", b"messages/count_tokens")
        assert (await bench.say(fox, question)).startswith(b"HTTP/1.1 200 ")

    bench.run(scenario, fox)
    assert b"/v1/messages/count_tokens?beta=true" in bench.asked[1]
    assert bench.spent(fox) == 0


def test_a_stream_is_cut_off_where_the_budget_is_spent_and_the_agent_is_paused(
    bench: RelayBench,
) -> None:
    fox = bench.agent(limits=Limits(usd=1.0))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await bench.hear(reader)
        writer.write(STREAM + start(MILLION // 10))
        while True:  # until it is cut off
            writer.write(delta("word " * 1000))
            await writer.drain()

    bench.answering = answer

    async def scenario() -> None:
        heard = await bench.say(fox, bench.question(fox))
        assert b"message_start" in heard
        assert b"the budget of this agent is spent" in heard

    bench.run(scenario, fox)
    assert 1.0 <= bench.spent(fox) < 2.0
    until(lambda: paused(bench, fox))


def test_what_others_of_an_agents_questions_use_cuts_off_a_stream_too(bench: RelayBench) -> None:
    fox = bench.agent(limits=Limits(usd=1.0))
    begun, spent = asyncio.Event(), asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await bench.hear(reader)
        if len(bench.asked) == 2:
            writer.write(whole(Usage(input_tokens=MILLION)))
            return
        writer.write(STREAM + start(1))
        begun.set()
        await spent.wait()
        writer.write(delta("a"))
        await writer.drain()
        with contextlib.suppress(OSError):
            await reader.read()  # until the relay hangs up

    bench.answering = answer

    async def scenario() -> None:
        first = asyncio.create_task(bench.say(fox, bench.question(fox)))
        await begun.wait()
        await bench.say(fox, bench.question(fox))
        spent.set()
        assert b"the budget of this agent is spent" in await first

    bench.run(scenario, fox)


def test_who_has_spent_its_budget_is_refused_before_the_model_is_asked(bench: RelayBench) -> None:
    fox = bench.agent(limits=Limits(usd=1.0))

    async def scenario() -> None:
        bench.answering = bench.answer_with(whole(Usage(input_tokens=MILLION)))
        await bench.say(fox, bench.question(fox))
        heard = await bench.say(fox, bench.question(fox))
        assert heard.startswith(b"HTTP/1.1 403 ")
        assert b"--max-budget" in heard
        assert b"x-should-retry: false" in heard

    bench.run(scenario, fox)
    assert len(bench.asked) == 1


def test_who_hangs_up_before_the_answer_pays_for_the_question_all_the_same(
    bench: RelayBench,
) -> None:
    fox = bench.agent()
    asked, gone, over = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await bench.hear(reader)
        asked.set()
        await gone.wait()
        writer.write(STREAM + start(MILLION // 10))
        await writer.drain()
        with contextlib.suppress(OSError):
            await reader.read()  # until the relay hangs up
        over.set()

    bench.answering = answer

    async def scenario() -> None:
        _, writer = await asyncio.open_unix_connection(str(bench.socket(fox)))
        writer.write(bench.question(fox))
        await asked.wait()
        writer.transport.abort()
        gone.set()
        await over.wait()

    bench.run(scenario, fox)
    assert bench.spent(fox) == pytest.approx(0.5, rel=0.01)


def test_a_relay_that_stops_books_what_passed_and_the_next_answers_at_the_same_socket(
    bench: RelayBench,
) -> None:
    fox = bench.agent()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await bench.hear(reader)
        writer.write(STREAM + start(MILLION // 10) + delta("x" * 40_000))
        await writer.drain()
        await reader.read()

    bench.answering = answer

    async def scenario() -> None:
        reader, writer = await asyncio.open_unix_connection(str(bench.socket(fox)))
        writer.write(bench.question(fox))
        await reader.readuntil(b"xxx")
        await bench.relay.stop()
        with pytest.raises(asyncio.IncompleteReadError):
            await reader.readuntil(b"message_stop")
        writer.close()
        await bench.relay.listen(bench.socket(fox), fox.uid)
        bench.answering = bench.answer_with(whole(Usage(output_tokens=1)))
        assert (await bench.say(fox, bench.question(fox))).startswith(b"HTTP/1.1 200 ")

    bench.run(scenario, fox)
    assert bench.spent(fox) == pytest.approx(0.5 + 40 / 3 * 0.025, rel=0.001)


def test_one_agent_has_so_many_questions_under_way_and_others_are_still_answered(
    bench: RelayBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "MOST_OF_ONE", 2)
    fox, owl = bench.agent("fox"), bench.agent("owl")
    asked, answered = asyncio.Semaphore(0), asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await bench.hear(reader)
        asked.release()
        if b"held" in bench.asked[-1]:
            await answered.wait()
        writer.write(whole(Usage(input_tokens=1)))
        await writer.drain()

    bench.answering = answer

    async def scenario() -> None:
        held = [
            asyncio.create_task(bench.say(fox, bench.question(fox, body=b'"held"')))
            for _ in range(2)
        ]
        for _ in held:
            await asked.acquire()
        assert (await bench.say(fox, bench.question(fox))).startswith(b"HTTP/1.1 503 ")
        assert (await bench.say(owl, bench.question(owl))).startswith(b"HTTP/1.1 200 ")
        answered.set()
        assert [(await one)[:12] for one in held] == [b"HTTP/1.1 200"] * 2
        assert (await bench.say(fox, bench.question(fox))).startswith(b"HTTP/1.1 200 ")

    bench.run(scenario, fox, owl)


STRANGERS = {
    "say nothing": b"",
    "say half of a head": b"POST /v1/messages HTTP/1.1\r\n",
    "have another word": b"POST /v1/messages HTTP/1.1\r\nHost: a\r\nx-api-key: another\r\n"
    b"Content-Length: 9\r\n\r\n",
    "have no word": b"POST /v1/messages HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n",
}


@pytest.mark.parametrize("what", STRANGERS)
def test_strangers_take_no_turn_of_an_agents_and_the_oldest_of_them_goes(
    bench: RelayBench, what: str
) -> None:
    fox = bench.agent()

    async def scenario() -> None:
        path = str(bench.socket(fox))
        came = []
        for _ in range(strangers.MOST_OF_ONE + relay.MOST_OF_ONE):
            came.append(await asyncio.open_unix_connection(path))
            came[-1][1].write(STRANGERS[what])
        assert (await bench.say(fox, bench.question(fox))).startswith(b"HTTP/1.1 200 ")
        with contextlib.suppress(ConnectionResetError):
            await came[0][0].read()  # until it is let go
        for _, writer in came:
            writer.close()

    bench.run(scenario, fox)
    assert len(bench.asked) == 1


def test_strangers_of_all_agents_are_so_many_and_where_most_are_the_oldest_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(strangers, "MOST_OF_ONE", 3)
    monkeypatch.setattr(strangers, "MOST_OF_ALL", 4)
    gone: list[str] = []
    made = strangers.Strangers()
    for name in ("fox 1", "owl 1", "owl 2", "owl 3", "fox 2", "owl 4", "cub 1", "owl 5"):
        made.admit(Uid(name[:3]), cast("Peer", name), partial(gone.append, name))
    assert gone == ["owl 1", "owl 2", "fox 1", "owl 3"]


GARBAGE = {
    "nothing": b"",
    "no HTTP": b"hello\r\n\r\n",
    "a form that cannot be counted": whole(Usage(), more="content-encoding: gzip\r\n"),
}


@pytest.mark.parametrize("what", GARBAGE)
def test_an_address_that_speaks_nonsense_is_a_bad_gateway(bench: RelayBench, what: str) -> None:
    fox = bench.agent()
    bench.answering = bench.answer_with(GARBAGE[what])

    async def scenario() -> None:
        assert (await bench.say(fox, bench.question(fox))).startswith(b"HTTP/1.1 502 ")

    bench.run(scenario, fox)


def test_an_address_is_believed_by_its_certificate_alone(bench: RelayBench) -> None:
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(CERTIFICATE)
    fox = bench.agent()

    async def scenario() -> None:
        heard = await bench.say(fox, bench.question(fox))
        assert heard.startswith(b"HTTP/1.1 502 ")
        assert bench.asked == []
        env = bench.bench.context.env
        assert isinstance(env, dict)
        env["NODE_EXTRA_CA_CERTS"] = str(CERTIFICATE)
        bench.relay._accounts._tls = None  # noqa: SLF001 - as after a restart
        heard = await bench.say(fox, bench.question(fox))
        assert heard.startswith(b"HTTP/1.1 200 ")

    bench.run(scenario, fox, tls=served)
    assert len(bench.asked) == 1


CERTIFICATE = Path(__file__).with_name("localhost.pem")
"""Of a server that only tests run, with its key; good for a hundred years."""
