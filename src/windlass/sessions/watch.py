"""Noticing at once that a session began or ended, or that the tmux server died.

Owns one control-mode client. It attaches to no session: tmux tells every control client when
the list of sessions changes, and one without a session gets no output of any pane, has no size,
and can slow nobody down. So no session has to be kept for it, and it sleeps until told.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from windlass.sessions.tmux import server_environment

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from windlass.sessions.tmux import Tmux

# "%end" is the first thing said, when the client is in place and misses nothing any more.
_SIGNS = (b"%sessions-changed", b"%session-renamed", b"%end")
# A lock that nobody ever opens: waiting for it is what keeps the client there.
_FOREVER = "windlass-watcher"


class Watcher:
    """Calls back whenever the sessions of one tmux server may have changed.

    `poll` is how often it looks for a server that another process may have started. A client that
    lived for `steady` seconds is replaced at once; one that did not only at the next look.
    """

    def __init__(self, tmux: Tmux, *, poll: float = 5.0, steady: float = 1.0) -> None:
        self._tmux = tmux
        self._poll = poll
        self._steady = steady

    async def run(self, on_change: Callable[[], Awaitable[None]]) -> None:
        """Calls `on_change` after each change, at the server's start and death, until cancelled.

        Without a server it waits for this process to start one, and looks every few seconds
        whether another has.
        """
        loop = asyncio.get_running_loop()
        started = asyncio.Event()

        def tell() -> None:
            loop.call_soon_threadsafe(started.set)

        forget = self._tmux.when_started(tell)
        served = False
        try:
            while True:
                started.clear()
                lost = served
                served = await asyncio.to_thread(self._tmux.alive)
                if lost and not served:
                    # Told again: a server says goodbye to its clients before it is gone.
                    await on_change()
                if served:
                    begun = loop.time()
                    await self._listen(on_change)
                    await on_change()
                    if loop.time() - begun >= self._steady:
                        continue
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(started.wait(), self._poll)
        finally:
            forget()

    async def _listen(self, on_change: Callable[[], Awaitable[None]]) -> None:
        """Follows one client until it ends, which it does with its server."""
        client = await asyncio.create_subprocess_exec(
            "tmux",
            "-u",
            "-N",
            "-S",
            str(self._tmux.socket),
            "-C",
            "wait-for",
            _FOREVER,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=server_environment(),
            cwd="/",
        )
        try:
            while client.stdout is not None and (line := await client.stdout.readline()):
                if line.startswith(_SIGNS):
                    await on_change()
        finally:
            with contextlib.suppress(ProcessLookupError):
                client.kill()
            await client.wait()
