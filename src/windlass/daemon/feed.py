"""The event stream: what the log holds already, then what is committed, without a gap."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from windlass.api.server import Caller
from windlass.core.errors import UserError
from windlass.core.ids import RepoId, Uid
from windlass.daemon import finding
from windlass.daemon.context import Context
from windlass.daemon.views import Views, event_view
from windlass.store import rows
from windlass.store.store import Event

_PAGE = 500
_DIGITS = 18
"""Of the largest event id that the database can hold there are nineteen."""


class Feed:
    """Wakes its readers on every commit; each reads the log at its own pace."""

    def __init__(self, context: Context, views: Views, loop: asyncio.AbstractEventLoop) -> None:
        self._context = context
        self._views = views
        self._loop = loop
        self._news = asyncio.Event()
        self._closed = False
        context.store.listen(self._committed)

    def close(self) -> None:
        """Ends every stream."""
        self._closed = True
        self._wake()

    async def __call__(
        self, caller: Caller, asked: Mapping[str, str]
    ) -> AsyncIterator[dict[str, Any]]:
        """Finds out what somebody may see and asked for, or refuses; gives the stream of it."""
        repo, agent = await asyncio.to_thread(self._meant, caller, asked)
        after = await asyncio.to_thread(self._first, asked)
        return self._stream(after, repo, agent)

    async def _stream(
        self, after: int, repo: RepoId | None, agent: Uid | None
    ) -> AsyncIterator[dict[str, Any]]:
        while not self._closed:
            news = self._news
            found = await asyncio.to_thread(self._page, after, repo, agent)
            if found:
                names = await asyncio.to_thread(self._views.names)
                for event in found:
                    after = event.id
                    yield dict(event_view(event, names))
                continue
            await news.wait()

    def _meant(self, caller: Caller, asked: Mapping[str, str]) -> tuple[RepoId | None, Uid | None]:
        where = finding.scope(self._context, caller, asked)
        if wanted := asked.get("agent"):
            return None, finding.any_agent(self._context, where, wanted).uid
        return (where.repo.id if where.repo else None), None

    def _first(self, asked: Mapping[str, str]) -> int:
        given = asked.get("after")
        if given is None:
            last = self._context.store.read(lambda c: rows.events(c, last=1))
            return last[0].id if last else 0
        if not given.isdecimal() or len(given) > _DIGITS:
            raise UserError(f"after={given[:40]!r} is not an event id", "ids are whole numbers")
        return int(given)

    def _page(self, after: int, repo: RepoId | None, agent: Uid | None) -> list[Event]:
        return self._context.store.read(
            lambda c: rows.events(c, after=after, repo=repo, agent=agent, limit=_PAGE)
        )

    def _committed(self, _events: list[Event]) -> None:
        self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
