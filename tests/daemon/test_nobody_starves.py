"""Nobody starves anybody: what one caller asks for keeps no other from being answered.

The server and the threads are the daemon's own; only what answers is the test's.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from tests.support.ground import until
from tests.support.serving import Served, served

from windlass.api import client, server, shares
from windlass.api.shares import MOST_BYTES, MOST_OF_ONE, MOST_WAITS
from windlass.api.verbs import LARGEST, Caller, Verb, Wait
from windlass.core import shapes
from windlass.core.errors import NotFound, Unavailable, UserError
from windlass.core.ids import Uid
from windlass.daemon.kernel import pools
from windlass.daemon.kernel.pools import POOLS, Pools

CREW = [f"a{number}" for number in range(100)]
FRESH: dict[str, int] = {pool.name: pool.fresh for pool in POOLS}
SHARES: dict[str, int] = {pool.name: pool.share for pool in POOLS}
BOUNDS: dict[str, int] = {pool.name: pool.bound for pool in POOLS}


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What hangs is known to hang at once, and not after seconds."""
    monkeypatch.setattr(pools, "FRESH", 0.001)


class Shop:
    """Verbs that hang until the test is over, and some that answer."""

    def __init__(self) -> None:
        self.pools = Pools()
        self.over = threading.Event()
        self.begun: list[str] = []
        self.block: Callable[[], object] = lambda: None
        """What the event loop does before it answers who reads."""

    def verbs(self) -> dict[str, Verb | Wait]:
        """One that answers, one that hangs in a thread, one that waits and looks for ever."""
        return {
            "agents": Verb(dict[str, Any], list[str], lambda *_: ["ann"], callers="both"),
            "hang": Verb(dict[str, Any], str, self._hang, callers="both"),
            "wait": Wait(dict[str, Any], str, self._wait, callers="both"),
            "stuck": Wait(dict[str, Any], str, self._stuck, callers="both"),
            "reckon": Verb(dict[str, Any], str, self._hang, callers="both", needs="store"),
            "thread": Verb(Any, str, self._thread, callers="both"),
            "read": Wait(Any, str, self._read, callers="both"),
        }

    def _hang(self, caller: Caller, _asked: Any) -> str:
        self.begun.append(caller.agent or "person")
        self.over.wait(30)
        return "at last"

    def _thread(self, _caller: Caller, _asked: Any) -> str:
        return threading.current_thread().name

    async def _wait(self, caller: Caller, _asked: Any) -> str:
        self.begun.append(caller.agent or "person")
        await asyncio.Event().wait()
        return "never"

    async def _read(self, _caller: Caller, _asked: Any) -> str:
        self.block()
        return "read"

    async def _stuck(self, caller: Caller, asked: Any) -> str:
        return await self.pools.look(caller, self._hang, caller, asked)

    async def feed(
        self, caller: Caller, _asked: Mapping[str, str]
    ) -> AsyncIterator[dict[str, Any]]:
        """A stream of one event, which a thread reads."""
        number = await self.pools.look(caller, lambda: 7)
        return self._stream(number)

    async def _stream(self, number: int) -> AsyncIterator[dict[str, Any]]:
        yield {"id": number}
        await asyncio.Event().wait()


@pytest.fixture
def shop() -> Iterator[Shop]:
    """What answers; nothing hangs any more afterwards."""
    made = Shop()
    yield made
    made.over.set()
    made.pools.close()
    made.pools.join()


@pytest.fixture
def doors(shop: Shop) -> Iterator[Served]:
    """The sockets of the person and of a hundred agents."""
    with served(shop.verbs(), others=CREW, run=shop.pools.answer, feed=shop.feed) as made:
        yield made
        shop.over.set()


@pytest.fixture
def held() -> Iterator[ExitStack]:
    """Connections that stay open until the test is done."""
    with ExitStack() as made:
        yield made


def settled(shop: Shop, number: int) -> None:
    """Waits until so many requests are being done."""
    until(lambda: len(shop.begun) >= number, what=f"{number} requests")


def refused(connection: socket.socket) -> bytes:
    """What is answered on a connection."""
    return b"".join(iter(lambda: connection.recv(4096), b""))


@pytest.mark.usefixtures("impatient")
def test_two_agents_whose_requests_hang_keep_nobody_else_waiting(
    shop: Shop, doors: Served, held: ExitStack
) -> None:
    for name in ("a1", "a2"):
        for _ in range(62):
            held.enter_context(doors.begin(name, "hang"))
    settled(shop, 2 * SHARES["agent"])
    assert doors.ask("person", "agents", {}) == ["ann"]
    assert doors.ask("a3", "agents", {}) == ["ann"]
    assert sorted(shop.begun) == ["a1"] * SHARES["agent"] + ["a2"] * SHARES["agent"]


@pytest.mark.usefixtures("impatient")
def test_what_an_agent_left_waiting_when_it_hung_up_is_never_begun(
    shop: Shop, doors: Served
) -> None:
    with ExitStack() as callers:
        for _ in range(MOST_OF_ONE):
            callers.enter_context(doors.begin("a1", "hang"))
        settled(shop, SHARES["agent"])
        assert not lets_in(doors, "a1")
    until(lambda: lets_in(doors, "a1"), what="room for its next request")
    shop.over.set()
    assert doors.ask("a1", "agents", {}) == ["ann"]
    assert shop.begun == ["a1"] * SHARES["agent"]


def lets_in(doors: Served, name: str) -> bool:
    """Whether a request of an agent is looked at; for this one no thread is needed."""
    try:
        doors.ask(name, "no-such-verb", {})
    except NotFound:
        return True
    except Unavailable:
        return False
    raise AssertionError(name)


@pytest.mark.usefixtures("impatient")
def test_a_thread_that_its_caller_left_counts_until_it_is_done(shop: Shop, doors: Served) -> None:
    for number in range(SHARES["agent"]):
        with doors.begin("a1", "hang"):
            settled(shop, number + 1)
    with doors.begin("a1", "hang"), doors.begin("a2", "hang"):
        settled(shop, SHARES["agent"] + 1)
        assert shop.begun[-1] == "a2"
        shop.over.set()
        settled(shop, SHARES["agent"] + 2)


WORST = {"hang": "agent", "reckon": "agent_store", "stuck": "agent_wait"}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("verb", WORST)
def test_the_person_is_answered_while_a_hundred_agents_each_make_the_worst_request(
    shop: Shop, doors: Served, held: ExitStack, verb: str
) -> None:
    for name in CREW:
        for _ in range(4):
            held.enter_context(doors.begin(name, verb))
    settled(shop, BOUNDS[WORST[verb]])
    for _ in range(20):
        assert doors.ask("person", "agents", {}) == ["ann"]
    events = client.stream(0, cwd="/", path=str(doors.sockets["person"]), timeout=60)
    assert next(events) == {"id": 7}
    events.close()  # type: ignore[attr-defined]


@pytest.mark.usefixtures("impatient")
def test_an_agent_whose_waits_hang_leaves_the_events_of_others_alone(
    shop: Shop, doors: Served, held: ExitStack
) -> None:
    for _ in range(10):
        held.enter_context(doors.begin("a1", "stuck"))
    settled(shop, SHARES["agent_wait"])
    for name in ("person", "a2"):
        events = client.stream(0, cwd="/", path=str(doors.sockets[name]), timeout=60)
        assert next(events) == {"id": 7}
        events.close()  # type: ignore[attr-defined]
    assert shop.begun == ["a1"] * SHARES["agent_wait"]


@pytest.mark.parametrize("verb", WORST)
def test_few_of_a_hundred_agents_begin_at_once_and_the_next_when_one_is_done(
    shop: Shop, doors: Served, held: ExitStack, verb: str
) -> None:
    for name in CREW:
        held.enter_context(doors.begin(name, verb))
    settled(shop, FRESH[WORST[verb]])
    # Asked after all of them, so they have had their chance.
    assert doors.ask("person", "agents", {}) == ["ann"]
    assert len(shop.begun) == FRESH[WORST[verb]]
    shop.over.set()
    settled(shop, len(CREW))


def test_an_agent_that_waits_for_too_much_is_told_so_until_it_lets_go(
    shop: Shop, doors: Served
) -> None:
    with ExitStack() as callers:
        for _ in range(MOST_WAITS):
            callers.enter_context(doors.begin("a1", "wait"))
        settled(shop, MOST_WAITS)
        with pytest.raises(Unavailable, match="requests of yours wait already"):
            doors.ask("a1", "wait", {})
        with pytest.raises(Unavailable, match="requests of yours wait already"):
            next(client.stream(0, cwd="/", path=str(doors.sockets["a1"]), timeout=60))
        assert doors.ask("a1", "agents", {}) == ["ann"]

    def follows() -> bool:
        try:
            next(client.stream(0, cwd="/", path=str(doors.sockets["a1"]), timeout=60))
        except Unavailable:
            return False
        return True

    # Streams count as well, and no more once they are left: more of them than one may have.
    for _ in range(2 * MOST_WAITS):
        until(follows, what="room to wait")


def test_what_an_agent_says_at_once_is_limited_and_of_a_request_that_is_over_nothing_counts(
    doors: Served, held: ExitStack
) -> None:
    almost = json.dumps({"text": "x" * (LARGEST - 100)}).encode()
    for _ in range(3 * MOST_BYTES // LARGEST):
        assert doors.ask("a1", "thread", json.loads(almost)).startswith("agent_")
    for _ in range(MOST_BYTES // LARGEST):
        held.enter_context(doors.begin("a1", "hang", almost))

    def says_too_much() -> bool:
        try:
            doors.ask("a1", "read", {"text": "x" * 1000})
        except Unavailable as error:
            return "requests of yours under way say more than" in error.message
        return False

    until(says_too_much, what="the end of its share")
    assert doors.ask("a2", "thread", json.loads(almost)).startswith("agent_")


def test_a_request_that_does_not_come_to_its_end_is_refused(
    doors: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "_ARRIVES_WITHIN", 0.01)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(doors.sockets["a1"]))
        connection.sendall(b"POST /v1/hang HTTP/1.0\r\nContent-Length: 10\r\n\r\n{")
        assert b"was not whole" in refused(connection)


def test_agents_that_together_hold_every_connection_leave_the_person_enough(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "most_connections", lambda: 6)
    with served(shop.verbs(), others=CREW, run=shop.pools.answer) as doors, ExitStack() as held:
        for name in CREW[:6]:
            held.enter_context(doors.begin(name, "wait"))
        settled(shop, 6)
        with pytest.raises(Unavailable, match="as many connections of agents as it takes"):
            doors.ask(CREW[7], "agents", {})
        assert doors.ask("person", "agents", {}) == ["ann"]


def test_an_agent_that_opens_connections_without_end_keeps_nobody_waiting_until_it_stops(
    shop: Shop, doors: Served, held: ExitStack
) -> None:
    stopped = threading.Barrier(2, timeout=30)

    def stop() -> None:
        stopped.wait()
        stopped.wait()

    shop.block = stop
    doors.loop.call_soon_threadsafe(stop)
    stopped.wait()
    agents = [held.enter_context(doors.begin("a1", "no-such-verb")) for _ in range(MOST_OF_ONE)]
    person = held.enter_context(doors.begin("person", "read"))
    stopped.wait()
    stopped.wait()
    answered, _, _ = select.select(agents, [], [], 0)
    stopped.wait()
    assert person.recv(4096).startswith(b"HTTP/1.1 200")
    assert len(answered) < MOST_OF_ONE // 2
    assert all(agent.recv(4096).startswith(b"HTTP/1.1 404") for agent in agents)


async def by_name(connection: socket.socket) -> Caller:
    """Finds whoever a caller says in the name of its own end that it is, the person without one."""
    name = connection.getpeername()
    return Caller(Uid(name[1:].decode().partition("-")[0]) if name else None)


@pytest.mark.usefixtures("impatient")
def test_what_an_agent_opens_on_the_persons_socket_counts_as_its_own_and_the_person_is_answered(
    shop: Shop,
) -> None:
    serving = served(shop.verbs(), others=CREW, run=shop.pools.answer, find=by_name)
    with serving as doors, ExitStack() as held:

        def open_as_agent(verb: str) -> socket.socket:
            made = held.enter_context(socket.socket(socket.AF_UNIX))
            made.settimeout(10)
            made.bind(f"\0a1-{os.urandom(8).hex()}")
            made.connect(str(doors.sockets["person"]))
            with suppress(BrokenPipeError):  # it is refused unread
                made.sendall(f"POST /v1/{verb} HTTP/1.0\r\nContent-Length: 0\r\n\r\n".encode())
            return made

        for _ in range(MOST_OF_ONE):
            open_as_agent("hang")
        settled(shop, SHARES["agent"])
        for _ in range(100):
            assert b"requests of yours are under way" in open_as_agent("agents").recv(4096)
            assert doors.ask("person", "agents", {}) == ["ann"]
        with pytest.raises(Unavailable, match="requests of yours are under way already"):
            doors.ask("a1", "agents", {})
        assert doors.ask("a2", "agents", {}) == ["ann"]
        assert set(shop.begun) == {"a1"}


def test_a_request_beyond_what_its_verb_takes_is_refused(doors: Served) -> None:
    with pytest.raises(UserError, match="larger than 1 MiB"):
        doors.ask("person", "thread", {"text": "x" * LARGEST})


@pytest.mark.parametrize("verb", ["thread", "read"])
def test_a_large_request_is_not_read_on_the_event_loop(
    doors: Served, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_in: list[str] = []
    decode = shapes.decode

    def noted(text: bytes, kind: Any) -> Any:
        read_in.append(threading.current_thread().name)
        return decode(text, kind)

    monkeypatch.setattr(shapes, "decode", noted)
    for name in ("agent", "person"):
        doors.ask(name, verb, {"text": "x" * (128 << 10)})
    assert [name.partition("_")[0] for name in read_in] == ["agent", "person"]
