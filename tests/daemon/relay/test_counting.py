"""What the relay counts of answers that hide, break off, are huge, or come byte by byte."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time

import pytest
from tests.daemon.relay.relay_bench import (
    OPUS,
    STREAM,
    RelayBench,
    chunked,
    delta,
    end,
    event,
    sealed,
    start,
    thought,
)

from windlass.core import answer_meter
from windlass.core.crew import Agent, Limits
from windlass.daemon.relay import relay
from windlass.store import rows

DOLLARS_A_TOKEN = 25 / 1_000_000
"""Of output."""


def reckoned(bench: RelayBench) -> list[str]:
    """Why answers were counted by their size, as the log has it."""
    told = bench.bench.store.read(lambda c: rows.events(c, kind="usage.reckoned", limit=9))
    return [said.data["why"] for said in told]


class Abandoned:
    """A question whose asker hangs up in the middle of the answer's first thought."""

    def __init__(self, bench: RelayBench, agent: Agent) -> None:
        self._bench, self._agent = bench, agent
        self._gone, self._over = asyncio.Event(), asyncio.Event()
        self.was_heard_out = False
        self._then: list[bytes] = []
        bench.answering = self._answer

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._bench.hear(reader)
        writer.write(STREAM + start(1) + thought(thinking="", signature=""))
        await writer.drain()
        await self._gone.wait()
        with contextlib.suppress(OSError):
            for piece in [event("ping"), event("ping"), *self._then]:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
            if not self._then or b"message_stop" not in self._then[-1]:
                await reader.read()  # until the relay hangs up
        self.was_heard_out = True
        self._over.set()

    async def play(self, *then: bytes) -> None:
        """Asks, hangs up, has the rest said; and waits until it is counted."""
        self._then = list(then)
        reader, writer = await asyncio.open_unix_connection(str(self._bench.socket(self._agent)))
        writer.write(self._bench.question(self._agent))
        await reader.readuntil(b"thinking")
        writer.transport.abort()
        self._gone.set()
        await self._over.wait()
        await self._bench.at_rest()


def test_who_hangs_up_in_the_middle_of_a_thought_pays_for_all_of_it(bench: RelayBench) -> None:
    fox = bench.agent()

    async def scenario() -> None:
        await Abandoned(bench, fox).play(sealed("x" * 30), end(50_000))

    bench.run(scenario, fox)
    assert bench.spent(fox) == pytest.approx(50_000 * DOLLARS_A_TOKEN, rel=0.001)
    assert reckoned(bench) == []


def test_a_thought_whose_length_is_never_said_is_reckoned_by_what_it_is_sealed_in(
    bench: RelayBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "_READ_ON", 0.2)
    fox = bench.agent()

    async def scenario() -> None:
        await Abandoned(bench, fox).play(sealed("x" * 150_000), delta("and so"))

    bench.run(scenario, fox)
    assert bench.spent(fox) == pytest.approx(50_000 * DOLLARS_A_TOKEN, rel=0.001)


def test_a_thought_without_end_is_not_heard_forever_and_the_log_says_that_it_is_not_known(
    bench: RelayBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "_THINKS_ON", 0.2)
    fox = bench.agent()

    async def scenario() -> None:
        await Abandoned(bench, fox).play()

    bench.run(scenario, fox)
    assert reckoned(bench) == ["it broke off in the middle of a thought"]


def test_what_advised_the_model_is_paid_for_at_its_own_price(bench: RelayBench) -> None:
    fox = bench.agent()
    advice = {"type": "advisor_message", "input_tokens": 100_000, "output_tokens": 20_000}
    goes = [
        {"type": "compaction", "input_tokens": 100_000, "output_tokens": 10_000},
        {**advice, "model": "claude-sonnet-4-6"},
        {"type": "message", "input_tokens": 1, "output_tokens": 5},
    ]
    last = event("message_delta", usage={"output_tokens": 5, "iterations": goes})
    bench.answering = bench.answer_with(STREAM + start(1) + last + event("message_stop"))

    async def scenario() -> None:
        await bench.say(fox, bench.question(fox))

    bench.run(scenario, fox)
    rows_by_model = {row["name"]: row for row in bench.bench.view(by="model")["rows"]}
    own, advisor = rows_by_model[OPUS], rows_by_model["claude-sonnet-4-6"]
    assert (own["input_tokens"], own["output_tokens"]) == (100_001, 10_005)
    assert own["usd"] == pytest.approx(0.75, rel=0.001)
    assert (advisor["input_tokens"], advisor["output_tokens"]) == (100_000, 20_000)
    assert advisor["usd"] == pytest.approx(0.6, rel=0.001)


def in_one_piece(body: bytes) -> bytes:
    """An answer that is no stream."""
    head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def test_a_large_answer_in_one_piece_is_counted_by_what_it_says(bench: RelayBench) -> None:
    fox = bench.agent()
    usage = {"input_tokens": 100_000, "output_tokens": 4}
    body = json.dumps({"content": "x" * (6 << 20), "model": OPUS, "usage": usage}).encode()
    bench.answering = bench.answer_with(in_one_piece(body))

    async def scenario() -> None:
        assert len(await bench.say(fox, bench.question(fox))) > len(body)

    bench.run(scenario, fox)
    assert bench.spent(fox) == pytest.approx(0.5, rel=0.001)
    assert reckoned(bench) == []


def test_an_answer_that_says_nothing_of_what_it_used_is_counted_by_its_size_and_told(
    bench: RelayBench,
) -> None:
    fox = bench.agent()
    bench.answering = bench.answer_with(in_one_piece(b'{"content": "%s"}' % (b"x" * 300_000)))

    async def scenario() -> None:
        await bench.say(fox, bench.question(fox))
        bench.answering = bench.answer_with(STREAM + delta("x" * 300_000))
        await bench.say(fox, bench.question(fox))

    bench.run(scenario, fox)
    assert bench.spent(fox) >= 2 * 0.5  # by the price of a model that nobody knows
    assert reckoned(bench) == ["it does not say what it used"] * 2


@pytest.mark.parametrize("streamed", [True, False])
def test_what_is_too_long_to_be_counted_is_cut_off_and_its_agent_pays_for_it(
    bench: RelayBench, monkeypatch: pytest.MonkeyPatch, *, streamed: bool
) -> None:
    monkeypatch.setattr(answer_meter, "LONGEST", 1 << 20)
    fox = bench.agent(limits=Limits(usd=100.0))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await bench.hear(reader)
        head = in_one_piece(b"")[:-5] + b"%d\r\n\r\n{" % (1 << 40)
        writer.write(STREAM + start(1) + b"data: " if streamed else head)
        with contextlib.suppress(OSError):
            while True:  # until it is cut off
                writer.write(b"x" * 65_536)
                await writer.drain()

    bench.answering = answer

    async def scenario() -> None:
        heard = await bench.say(fox, bench.question(fox))
        assert (b"too long to be counted" in heard) is streamed
        assert len(heard) < 2 << 20

    bench.run(scenario, fox)
    assert bench.spent(fox) >= (1 << 20) / 3 * DOLLARS_A_TOKEN
    assert reckoned(bench) == ["more than 1 MiB of it came in one piece"]


def test_an_address_that_sends_bytes_one_by_one_costs_the_daemon_no_more_than_their_number(
    bench: RelayBench,
) -> None:
    fox = bench.agent()
    said = [b"x"] * (1 << 18)
    bench.answering = bench.answer_with(chunked(start(1), b"data: ", *said, b"\n", end(100)))
    took: list[float] = []

    async def scenario() -> None:
        began = time.process_time()
        heard = await bench.say(fox, bench.question(fox))
        took.append(time.process_time() - began)
        assert b"message_stop" in heard

    bench.run(scenario, fox)
    assert took[0] < 8
    assert bench.spent(fox) == pytest.approx(100 * DOLLARS_A_TOKEN, rel=0.01)
