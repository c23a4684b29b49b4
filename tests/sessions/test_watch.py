from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import TYPE_CHECKING

import psutil
import pytest
from tests.sessions.conftest import until
from tests.sessions.test_tmux import ask

from windlass.sessions.watch import Watcher

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tests.sessions.conftest import Stage

    from windlass.sessions.tmux import Tmux

# Far longer than any test waits: what is noticed is noticed by event.
NEVER = 1000.0


class Seen:
    """Counts changes and waits for what they lead to."""

    def __init__(self) -> None:
        self.count = 0
        self.changed = asyncio.Event()

    async def note(self) -> None:
        """Is what the watcher calls."""
        self.count += 1
        self.changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Looks again after each change, and only then."""
        async with asyncio.timeout(5):
            while not await asyncio.to_thread(condition):
                await self.changed.wait()
                self.changed.clear()


@contextlib.asynccontextmanager
async def watching(tmux: Tmux, *, poll: float = NEVER) -> AsyncIterator[Seen]:
    seen = Seen()
    task = asyncio.create_task(Watcher(tmux, in_thread=asyncio.to_thread, poll=poll).run(seen.note))
    try:
        yield seen
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def test_beginnings_and_ends_are_noticed_at_once(stage: Stage, tmux: Tmux) -> None:
    async def scene() -> None:
        async with watching(tmux) as seen:
            await asyncio.to_thread(stage.start, "sh", "-c", "read x; exit 3")
            await seen.until(lambda: tmux.sessions() == [stage.name])
            before = seen.count
            await asyncio.to_thread(stage.holder)
            await asyncio.to_thread(tmux.keys, stage.name, "Enter")
            await seen.until(lambda: seen.count > before and tmux.sessions() == [])
            assert stage.facts.exit_code == 3

    asyncio.run(scene())


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_death_and_return_of_the_server_are_noticed_at_once(
    tmux: Tmux, how: signal.Signals, place: Path
) -> None:
    async def scene() -> None:
        tmux.ensure()
        async with watching(tmux) as seen:
            await seen.until(lambda: seen.count >= 1)
            os.kill(tmux.server_pid(), how)
            await seen.until(lambda: not tmux.alive())
            before = seen.count
            await asyncio.to_thread(tmux.ensure)
            await seen.until(lambda: seen.count > before)
            await asyncio.to_thread(
                lambda: tmux.new("a", ["sleep", "100"], cwd=place, columns=80, lines=24)
            )
            await seen.until(lambda: tmux.sessions() == ["a"])

    asyncio.run(scene())


def test_a_server_that_another_process_starts_is_found_by_the_slow_look(tmux: Tmux) -> None:
    async def scene() -> None:
        other = type(tmux)(tmux.socket)
        async with watching(tmux, poll=0.05) as seen:
            await asyncio.to_thread(other.ensure)
            await seen.until(lambda: seen.count >= 1)

    asyncio.run(scene())


def test_a_watcher_whose_client_is_killed_goes_on(stage: Stage, tmux: Tmux) -> None:
    async def scene() -> None:
        tmux.ensure()
        async with watching(tmux) as seen:
            await asyncio.to_thread(until, clients)
            for client in clients():
                client.kill()
            await asyncio.to_thread(stage.start, "sleep", "100")
            await seen.until(lambda: tmux.sessions() == [stage.name])
            before = seen.count
            await asyncio.to_thread(stage.stop)
            await seen.until(lambda: seen.count > before and tmux.sessions() == [])

    asyncio.run(scene())


def clients() -> list[psutil.Process]:
    """Lists the clients that watchers of this process wait with."""
    return [one for one in psutil.Process().children() if "tmux" in one.name()]


def test_changes_while_nobody_waits_are_not_missed(
    stages: Callable[[str], Stage], tmux: Tmux
) -> None:
    async def scene() -> None:
        crew = [stages(f"a{number}") for number in range(8)]
        async with watching(tmux) as seen:
            for one in crew:
                await asyncio.to_thread(one.start, "true")
            await seen.until(lambda: all(one.facts.exit_code == 0 for one in crew))
            await seen.until(lambda: tmux.sessions() == [])

    asyncio.run(scene())


def test_the_watcher_is_no_session_and_no_size_and_ends_with_its_task(
    stage: Stage, tmux: Tmux
) -> None:
    async def scene() -> None:
        stage.start("sh", "-c", "stty size; yes", columns=60, lines=20)
        async with watching(tmux) as seen:
            await seen.until(lambda: seen.count >= 1)
            assert await asyncio.to_thread(tmux.sessions) == [stage.name]
            await asyncio.to_thread(until, clients)
            size = ask(tmux, "list-panes", "-a", "-F", "#{window_width} #{window_height}")
            assert size == "60 20"
        assert not clients()

    asyncio.run(scene())
