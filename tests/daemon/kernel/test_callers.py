"""Who calls over the person's socket, as the daemon finds it out; sessions are the test's."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.agents import an_agent
from tests.support.contexts import REPO
from tests.support.fake_sessions import FakeSession, FakeSessions

from windlass.api import peers
from windlass.api.verbs import Caller
from windlass.core.errors import Denied, Unavailable
from windlass.core.ids import Uid
from windlass.core.session_launch import Launch
from windlass.core.sessions import Peer
from windlass.daemon.kernel import callers
from windlass.daemon.kernel.callers import Callers
from windlass.daemon.kernel.context import Context
from windlass.store import rows
from windlass.store.rows import Session
from windlass.store.store import Writing

PERSON = Caller(None)


@pytest.fixture
def ourselves(context: Context) -> FakeSession:
    """A session that this very process is of, and that no agent has."""
    assert isinstance(context.sessions, FakeSessions)
    folder = context.folders.session(Uid("ann"), 1)
    launch = Launch(argv=("x",), cwd="/", env={}, mode="headless")
    context.sessions.start(folder=folder, name="ann", launch=launch, wake=None, marker="m1")
    session = context.sessions["ann"]
    session.pids.add(os.getpid())
    return session


def keep(context: Context, **more: Any) -> None:
    """Has an agent have the session."""

    def change(writing: Writing) -> None:
        rows.add_agent(writing, an_agent("ann", repo=REPO, **more))
        rows.add_session(writing, Session(agent=Uid("ann"), number=1, marker="m1"))

    context.store.write(change)


@contextmanager
def connections(number: int) -> Iterator[list[socket.socket]]:
    """Ends of so many connections, opened by this process."""
    with ExitStack() as opened:
        pairs = [socket.socketpair() for _ in range(number)]
        for end in (end for pair in pairs for end in pair):
            opened.enter_context(end)
        yield [ours for ours, _ in pairs]


def handles() -> int:
    """How many handles on processes are open."""
    entries = Path("/proc/self/fd").iterdir()
    links = (str(entry.readlink()) for entry in entries if entry.is_symlink())
    return sum("pidfd" in link for link in links)


def find(context: Context, number: int = 1) -> list[Caller]:
    """Who opened these, all asked at once."""

    async def ask(found: Callers, ends: list[socket.socket]) -> list[Caller]:
        looks: list[Coroutine[Any, Any, Caller]] = [found.find(end) for end in ends]
        return list(await asyncio.gather(*looks))

    with connections(number) as ends:
        return asyncio.run(ask(Callers(context), ends))


def test_who_runs_in_no_session_is_the_person(context: Context) -> None:
    assert find(context) == [PERSON]


@pytest.mark.usefixtures("ourselves")
def test_who_runs_in_a_session_of_an_agent_is_the_agent(context: Context) -> None:
    keep(context)
    assert find(context) == [Caller(Uid("ann"))]


@pytest.mark.usefixtures("ourselves")
def test_who_runs_in_a_session_of_an_agent_that_has_ended_is_not_the_person(
    context: Context,
) -> None:
    keep(context, ended_at=1.0)
    assert find(context) == [Caller(Uid("ann"))]


def test_a_session_of_ours_that_nobody_knows_is_nobodys(
    context: Context, ourselves: FakeSession
) -> None:
    ourselves.launch.env["WINDLASS_HOME"] = str(context.folders.home)
    with pytest.raises(Denied, match="a session that this daemon does not know"):
        find(context)


@pytest.mark.parametrize("home", [None, "/another/state/folder"])
def test_a_session_of_another_windlass_is_the_persons_own_program(
    context: Context, ourselves: FakeSession, home: str | None
) -> None:
    """So that an agent can work on Windlass itself, and try it."""
    if home is not None:
        ourselves.launch.env["WINDLASS_HOME"] = home
    assert find(context) == [PERSON]


def test_who_opens_many_connections_is_looked_at_once_for_those_that_wait(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    marks = context.sessions.marks

    def counted(peer: Peer) -> Any:
        looked.append(peer.pid)
        return marks(peer)

    monkeypatch.setattr(context.sessions, "marks", counted)
    assert find(context, 200) == [PERSON] * 200
    assert looked == [os.getpid()]
    assert find(context) == [PERSON]
    assert len(looked) == 2, "the next one is looked at anew"
    assert handles() == 0


def test_a_process_that_keeps_a_look_waiting_is_refused_and_others_are_not(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()
    marks = context.sessions.marks
    stuck, fine = 1 << 22, os.getpid()
    numbers = iter([stuck, fine])

    def waits(peer: Peer) -> Any:
        if peer.pid == stuck:
            over.wait(30)
        return marks(peer)

    monkeypatch.setattr(callers, "_PATIENCE", 0.05)
    monkeypatch.setattr(context.sessions, "marks", waits)
    monkeypatch.setattr(peers, "number", lambda _: next(numbers))

    async def ask() -> None:
        with connections(2) as (first, second):
            found = Callers(context)
            with pytest.raises(Unavailable, match="who calls"):
                await found.find(first)
            monkeypatch.setattr(callers, "_PATIENCE", 10.0)
            assert await found.find(second) == PERSON
            over.set()

    asyncio.run(ask())


def test_where_the_system_does_not_say_who_calls_it_is_the_person(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "number", lambda _: None)
    assert find(context) == [PERSON]


def test_who_cannot_be_seen_from_here_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process outside of our container has the number 0."""
    monkeypatch.setattr(peers, "_CREDENTIALS", _Nobody)
    with connections(1) as (end,), pytest.raises(Unavailable, match="another container"):
        peers.number(end)


class _Nobody:
    size = 12

    @staticmethod
    def unpack(_: bytes) -> tuple[int, ...]:
        """What the system says of somebody out of sight."""
        return 0, os.getuid(), os.getgid()


def test_a_kernel_without_handles_is_no_hindrance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "_SO_PEERPIDFD", 9999)
    with connections(1) as (end,):
        assert peers.take(end, os.getpid()) == Peer(os.getpid())
