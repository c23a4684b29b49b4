"""A real server in this process, with a socket for the person and one for an agent."""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from windlass.api import client
from windlass.api.server import Server
from windlass.api.verbs import Caller, Verb, Wait
from windlass.core.ids import Uid


class Served:
    """Where the verbs of a server are asked, by either kind of caller."""

    def __init__(self, folder: Path) -> None:
        self.sockets = {"person": folder / "person", "agent": folder / "agent"}

    def ask(self, kind: str, verb: str, request: Mapping[str, Any]) -> Any:
        """Asks as the person, or as the agent."""
        return client.ask(verb, request, path=str(self.sockets[kind]), timeout=10)


@contextmanager
def served(verbs: Mapping[str, Verb | Wait], agent: str = "ann") -> Iterator[Served]:
    """Serves these verbs on a loop of its own until the test is done."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def do(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, loop).result(10)

    server = Server(verbs, _no_events, schema=1, run=_at_once)
    with tempfile.TemporaryDirectory(prefix="wl-") as folder:
        made = Served(Path(folder))
        do(server.listen(made.sockets["person"], Caller(None)))
        do(server.listen(made.sockets["agent"], Caller(Uid(agent))))
        try:
            yield made
        finally:
            do(server.stop())
            do(asyncio.sleep(0))
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()


async def _at_once(work: Callable[[], Any]) -> Any:
    return work()


async def _no_events(_caller: Caller, _asked: Mapping[str, str]) -> AsyncIterator[dict[str, Any]]:
    raise NotImplementedError
