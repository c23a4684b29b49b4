"""A relay between an agent's socket and a model's address that says what a test has it say."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.daemon.spend.cost_bench import NOON, Bench
from tests.support.contexts import NoSockets

from windlass.core.crew import Agent
from windlass.core.session_launch import Launch
from windlass.core.usage import Usage
from windlass.daemon.agents.pause_resume import PauseResume
from windlass.daemon.agents.session_life import SessionLife
from windlass.daemon.kernel.context import session_name
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.launch import session_request
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.relay.accounts import Accounts
from windlass.daemon.relay.relay import Relay
from windlass.daemon.spend.budgets import Budgets
from windlass.store import spending

KEY = "sk-ant-api03-the-key-of-the-person"
OPUS = "claude-opus-4-8"
MILLION = 1_000_000
"""So many tokens of input cost five dollars there."""
Answering = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class RelayBench:
    """Agents in boxes, whose sessions run, and what the model's address was asked."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.asked: list[bytes] = []
        self.answering: Answering = self.answer_with(whole(Usage(input_tokens=1)))
        life = SessionLife(bench.context, NoSockets(), CommitFetcher(bench.context), lambda _: None)
        steering = PauseResume(bench.context, life)
        budgets = Budgets(bench.context, Intents(bench.context, steering.operations()))
        self.relay = Relay(bench.context, Accounts(bench.context, bench.costs, budgets))
        key = bench.folder / "key"
        key.write_text(f"{KEY}\n")
        self.configure(f'[claude]\napi_key_file = "{key}"\n')

    def configure(self, text: str) -> None:
        """Writes the person's own configuration."""
        (self.bench.folder / "config.toml").write_text(text)

    def agent(self, name: str = "fox", **more: Any) -> Agent:
        """A boxed agent of Claude Code whose session runs."""
        given = {"driver": "claude", "isolation": "box", "created_at": NOON - 3600}
        agent = self.bench.agent(name, **given | more)
        self.bench.context.sessions.start(
            folder=self.bench.context.folders.session(agent.uid, 1),
            name=session_name(agent),
            launch=Launch(argv=("agent",), cwd="/", env={}, mode="headless"),
            wake=None,
            marker=self.bench.newest(agent).marker,
        )
        return agent

    def token(self, agent: Agent) -> str:
        """What its session was given in place of a key."""
        return session_request.relay_token(self.bench.newest(agent))

    def socket(self, agent: Agent) -> Path:
        """Where its box leads."""
        return self.bench.folder / f"{agent.id}.sock"

    def spent(self, agent: Agent) -> float:
        """What it has spent so far, in USD."""
        return self.bench.store.read(lambda c: spending.total(c, agent=agent.uid, notional=False))

    def run(self, scenario: Callable[[], Awaitable[None]], *agents: Agent, tls: Any = None) -> None:
        """Plays a scenario while the relay and the model's address are there."""

        async def play() -> None:
            served = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=tls)
            port = served.sockets[0].getsockname()[1]
            scheme, host = ("https", "localhost") if tls else ("http", "127.0.0.1")
            env = self.bench.context.env
            assert isinstance(env, dict)
            env["ANTHROPIC_BASE_URL"] = f"{scheme}://{host}:{port}/gate"
            for agent in agents:
                await self.relay.listen(self.socket(agent), agent.uid)
            try:
                async with asyncio.timeout(60):
                    await scenario()
            finally:
                await self.relay.stop()
                served.close()

        asyncio.run(play())

    async def at_rest(self) -> None:
        """Waits until every question that was asked is over, and booked."""
        await asyncio.gather(*self.relay._tasks)  # noqa: SLF001 - who hung up is told nothing

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ssl.SSLError, asyncio.IncompleteReadError):
            await self.answering(reader, writer)
        writer.close()

    async def hear(self, reader: asyncio.StreamReader) -> None:
        """Takes in a question, as it arrives at the model's address."""
        head = await reader.readuntil(b"\r\n\r\n")
        (length,) = [
            int(line.split(b":")[1])
            for line in head.lower().split(b"\r\n")
            if line.startswith(b"content-length:")
        ]
        self.asked.append(head + await reader.readexactly(length))

    def answer_with(self, *said: bytes) -> Answering:
        """Has the model's address say this."""

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self.hear(reader)
            for piece in said:
                writer.write(piece)
                await writer.drain()

        return answer

    async def say(self, agent: Agent, *said: bytes) -> bytes:
        """Says something at an agent's socket, and returns all that comes back."""
        reader, writer = await asyncio.open_unix_connection(str(self.socket(agent)))
        for piece in said:
            writer.write(piece)
        with suppress(OSError):
            await writer.drain()
        heard = b""
        with suppress(ConnectionError):
            while piece := await reader.read(1 << 16):
                heard += piece
        writer.close()
        return heard

    def question(self, agent: Agent, *more: str, body: bytes = b"{}") -> bytes:
        """What the agent CLI would say."""
        lines = (
            "POST /v1/messages?beta=true HTTP/1.1",
            "Host: 127.0.0.1:1",
            f"x-api-key: {self.token(agent)}",
            f"Content-Length: {len(body)}",
            "anthropic-version: 2023-06-01",
            *more,
        )
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def whole(used: Usage, *, status: str = "200 OK", more: str = "") -> bytes:
    """An answer in one piece."""
    usage = {name: getattr(used, name) for name in ("input_tokens", "output_tokens")}
    body = json.dumps({"model": OPUS, "usage": usage}).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{more}"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"


def event(kind: str, **more: Any) -> bytes:
    """One event of a stream."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()


def start(tokens: int) -> bytes:
    """How a stream begins: with what the question used."""
    usage = {"input_tokens": tokens, "output_tokens": 1}
    return event("message_start", message={"model": OPUS, "usage": usage})


def delta(text: str) -> bytes:
    """A part of what is said in a stream."""
    return event("content_block_delta", delta={"type": "text_delta", "text": text})


def end(tokens: int) -> bytes:
    """How a stream ends: with what the answer used."""
    return event("message_delta", usage={"output_tokens": tokens}) + event("message_stop")


def thought(**said: str) -> bytes:
    """How a thought begins."""
    return event("content_block_start", content_block={"type": "thinking", **said})


def sealed(signature: str) -> bytes:
    """How a thought ends of which nothing was shown: with the seal that it is kept in."""
    seal = {"type": "signature_delta", "signature": signature}
    return event("content_block_delta", delta=seal) + event("content_block_stop")


def chunked(*pieces: bytes) -> bytes:
    """A stream whose pieces are chunks of their own."""
    head = STREAM[:-2] + b"transfer-encoding: chunked\r\n\r\n"
    return head + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
