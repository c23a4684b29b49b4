"""Who calls over the person's socket: the person, or an agent whose process it is.

Found out once for a connection, when it is opened. Who runs in a session of an agent is that agent
and acts as over the agent's own socket; everybody else is the person. What has left the processes
of its session cannot be told from the person's own: docs/isolation.md says how that is done.
"""

from __future__ import annotations

import asyncio
import socket
from functools import partial

from windlass.api import peers
from windlass.api.verbs import Caller
from windlass.core.errors import Denied, Unavailable
from windlass.core.ids import Uid
from windlass.core.sessions import Peer
from windlass.daemon.kernel.context import Context
from windlass.store import rows

_PATIENCE = 5.0
"""Seconds for a look, which takes half a millisecond: a process may be stuck, and we with it."""


class Callers:
    """Finds out who calls; on the event loop alone, but for the looks themselves."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._looks: dict[int, asyncio.Task[Caller]] = {}

    async def find(self, connection: socket.socket) -> Caller:
        """Returns who opened a connection; Unavailable where that cannot be found out in time.

        Denied to a process in a session that nobody knows. All connections of a process that wait
        at once share one look. Nobody else can have its number meanwhile: that the process still
        lives is what a look sees last.
        """
        pid = peers.number(connection)
        if pid is None:
            return Caller(None)
        if pid not in self._looks:
            self._looks[pid] = self._begin(peers.take(connection, pid))
        try:
            async with asyncio.timeout(_PATIENCE):
                return await asyncio.shield(self._looks[pid])
        except TimeoutError:
            raise Unavailable(
                f"it could not be found out within {_PATIENCE:.0f} s who calls", "try again"
            ) from None

    def _begin(self, peer: Peer) -> asyncio.Task[Caller]:
        look = asyncio.ensure_future(self._context.pools.run("caller", self._look, peer))
        look.add_done_callback(partial(self._over, peer.pid))
        return look

    def _over(self, pid: int, look: asyncio.Task[Caller]) -> None:
        del self._looks[pid]
        if not look.cancelled():
            look.exception()  # those who waited for it have it, or have given up

    def _look(self, peer: Peer) -> Caller:
        strange: set[str] = set()
        try:
            for mark in self._context.sessions.marks(peer):
                if mark.marker not in strange and (agent := self._owner(mark.marker)) is not None:
                    return Caller(agent)
                strange.add(mark.marker)
                if mark.home == str(self._context.folders.home):
                    raise Denied(
                        "this process runs in a session that this daemon does not know",
                        "run `wl` in a terminal of your own, or unset WINDLASS_SESSION",
                    )
            return Caller(None)
        finally:
            peers.release(peer)

    def _owner(self, marker: str) -> Uid | None:
        return self._context.store.read(lambda c: rows.session_owner(c, marker))
