"""The event stream: what the log holds already, then what is committed, without a gap."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import msgspec

from windlass.api.verbs import Caller
from windlass.core import crew
from windlass.core.errors import UserError
from windlass.core.events import AgentCreated, AgentEnded, AgentState
from windlass.core.ids import RepoId, Uid
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.daemon.views.log import event_view, names_in
from windlass.store import rows
from windlass.store.store import Event

_PAGE = 500
_PUBLIC = frozenset((AgentCreated.kind, AgentState.kind, AgentEnded.kind))
_OUTLINE = ("id", "was", "now", "how")
_DIGITS = 18
"""Of the largest event id that the database can hold there are nineteen."""


class EventStream:
    """Wakes its readers on every commit; each reads the log at its own pace."""

    def __init__(self, context: Context, loop: asyncio.AbstractEventLoop) -> None:
        self._context = context
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
        look = self._context.pools.look
        repo, agent = await look(caller, self._meant, caller, asked)
        after = await look(caller, self._first, asked)
        return self._stream(caller, after, repo, agent)

    async def _stream(
        self, caller: Caller, after: int, repo: RepoId | None, agent: Uid | None
    ) -> AsyncIterator[dict[str, Any]]:
        look = self._context.pools.look
        while not self._closed:
            news = self._news
            page = await look(caller, self._page, after, repo, agent)
            if page:
                after = page[-1].id
                names = await look(caller, names_in, self._context, page)
                for event in await look(caller, self._shown, caller, page):
                    yield dict(event_view(event, names))
                continue
            await news.wait()

    def _meant(self, caller: Caller, asked: Mapping[str, str]) -> tuple[RepoId | None, Uid | None]:
        scope = lookup.scope(self._context, caller, asked)
        if wanted := asked.get("agent"):
            agent = lookup.any_reachable_agent(self._context, scope, wanted, doing="follow")
            return None, agent.uid
        return scope.repo_id, None

    def _shown(self, caller: Caller, page: list[Event]) -> list[Event]:
        """What the caller may see: agents see their own tree, and of others who comes and goes."""
        uid = caller.agent
        if uid is None:
            return page
        itself = self._context.store.read(lambda c: rows.agent(c, uid))
        if itself is None:
            return []
        live = self._context.store.read(rows.agents)
        own = {uid, *(agent.uid for agent in crew.below(itself, live))}
        public = (event for event in page if event.agent in own or event.kind in _PUBLIC)
        return [event if event.agent in own else _outline(event) for event in public]

    def _first(self, asked: Mapping[str, str]) -> int:
        after = asked.get("after")
        if after is None:
            last = self._context.store.read(lambda c: rows.events(c, last=1))
            return last[0].id if last else 0
        if not after.isdecimal() or len(after) > _DIGITS:
            raise UserError(f"after={after[:40]!r} is not an event id", "ids are whole numbers")
        return int(after)

    def _page(self, after: int, repo: RepoId | None, agent: Uid | None) -> list[Event]:
        return self._context.store.read(
            lambda c: rows.events(c, after=after, repo=repo, agent=agent, limit=_PAGE)
        )

    def _committed(self, _events: list[Event]) -> None:
        self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


def _outline(event: Event) -> Event:
    outline = {name: event.data[name] for name in _OUTLINE if name in event.data}
    return msgspec.structs.replace(event, data=outline)
