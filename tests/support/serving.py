"""A real server in this process, with a socket for the person and one for each agent."""

from __future__ import annotations

import asyncio
import socket
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from windlass.api import client
from windlass.api.server import Feed, Find, Runner, Server
from windlass.api.verbs import Caller, Needs, Verb, Wait
from windlass.core.ids import Uid


class Served:
    """Where the verbs of a server are asked: as the person, the agent, or another by its name."""

    def __init__(
        self, folder: Path, loop: asyncio.AbstractEventLoop, others: Iterable[str]
    ) -> None:
        self.sockets = {name: folder / name for name in ("person", "agent", *others)}
        self.loop = loop

    def ask(self, kind: str, verb: str, request: Mapping[str, Any]) -> Any:
        """Asks as the person, or as the agent."""
        return client.ask(verb, request, path=str(self.sockets[kind]), timeout=60)

    def begin(self, kind: str, verb: str, body: bytes = b"{}") -> socket.socket:
        """Asks and does not wait for the answer; who closes what is returned has hung up."""
        made = socket.socket(socket.AF_UNIX)
        made.settimeout(10)
        made.connect(str(self.sockets[kind]))
        head = f"POST /v1/{verb} HTTP/1.0\r\nContent-Length: {len(body)}\r\n\r\n"
        with suppress(BrokenPipeError):  # it is refused unread
            made.sendall(head.encode() + body)
        return made


async def _at_once(_caller: Caller, _needs: Needs, work: Callable[[], bytes]) -> bytes:
    return work()


async def the_person(_connection: socket.socket) -> Caller:
    """Finds that it is the person who calls."""
    return Caller(None)


async def _no_events(_caller: Caller, _asked: Mapping[str, str]) -> AsyncIterator[dict[str, Any]]:
    raise NotImplementedError


async def _idle() -> None:
    """Waits until connections that were just taken are closed as well."""
    while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(tasks, timeout=2.0)
        for task in tasks:
            task.cancel()
    await asyncio.sleep(0)


@contextmanager
def served(
    verbs: Mapping[str, Verb | Wait],
    agent: str = "ann",
    *,
    others: Iterable[str] = (),
    run: Runner = _at_once,
    feed: Feed = _no_events,
    find: Find = the_person,
) -> Iterator[Served]:
    """Serves these verbs on a loop of its own until the test is done."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def do(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(60)

    server = Server(verbs, feed, schema=1, run=run, find=find)
    with tempfile.TemporaryDirectory(prefix="wl-") as folder:
        made = Served(Path(folder), loop, others)
        uids = {"person": None, "agent": Uid(agent)}
        for name, path in made.sockets.items():
            do(server.listen(path, Caller(uids.get(name, Uid(name)))))
        try:
            yield made
        finally:
            do(server.stop())
            do(_idle())
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
