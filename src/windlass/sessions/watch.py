"""Noticing at once that a session began or ended, or that the tmux server died.

Owns one waiting tmux client, an ordinary one: hooks that it sets open the lock it waits for. It
says when it is in place; only then is the callback made, so no change falls between two waits
(tmux remembers one opening that nobody waited for, but forgets it at the second). Nothing is ever
sent to it that could slow an agent down.

Not a control-mode client, which would seem made for this: tmux 3.3a crashes, and every session
with it, when the list of sessions changes while such a client is connecting (5 of 60: measured).
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from windlass.sessions.tmux import client_argv, server_environment

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from windlass.sessions.tmux import Tmux

_CHANGED = "windlass-changed"
_TELL = f"wait-for -S {_CHANGED}"
# Set by each client, not by tmux.conf: the server may be older than this program.
_STEPS = (
    *("set-hook", "-g", "session-created", _TELL, ";"),
    *("set-hook", "-g", "session-closed", _TELL, ";"),
    *("display-message", "-p", "waiting", ";"),
    *("wait-for", _CHANGED),
)
# Before the next client, when one ended though the server is there.
_PAUSE = 0.1


class Watcher:
    """Calls back whenever the sessions of one tmux server may have changed.

    `poll` is how often it looks for a server that another process may have started. `in_thread`
    does what blocks: asks whether the server is there.
    """

    def __init__(
        self,
        tmux: Tmux,
        *,
        in_thread: Callable[[Callable[[], bool]], Awaitable[bool]],
        poll: float = 5.0,
    ) -> None:
        self._tmux = tmux
        self._in_thread = in_thread
        self._poll = poll

    async def run(self, on_change: Callable[[], Awaitable[None]]) -> None:
        """Calls `on_change` after each change, at the server's start and death, until cancelled.

        Several changes in a row may be one call. Without a server it waits for this process to
        start one, and looks every few seconds whether another has.
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
                before, served = served, await self._in_thread(self._tmux.alive)
                if before and not served:
                    await on_change()
                if served and await self._wait(on_change):
                    continue
                if served and not await self._in_thread(self._tmux.alive):
                    continue
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_PAUSE if served else self._poll):
                        await started.wait()
        finally:
            forget()

    async def _wait(self, on_change: Callable[[], Awaitable[None]]) -> bool:
        """Calls back once it waits, then waits for the next change; False if that failed."""
        client = await asyncio.create_subprocess_exec(
            *client_argv("-N", "-S", str(self._tmux.socket), *_STEPS),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=server_environment(),
            cwd="/",
        )
        try:
            if client.stdout is not None and await client.stdout.readline():
                await on_change()
            return await client.wait() == 0
        finally:
            if client.returncode is None:
                client.kill()
                await client.wait()
