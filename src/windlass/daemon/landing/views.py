"""Changes as faces see them, and the wait for one to leave the queue."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

import msgspec

from windlass.api.verbs import Caller
from windlass.api.wire.landing import (
    ChangeRequest,
    ChangesReply,
    ChangesRequest,
    ChangeView,
    TicketView,
)
from windlass.core.errors import NotFound
from windlass.core.events import ChangeLanded, ChangeStopped
from windlass.core.landing import changes as core
from windlass.core.landing.changes import OPEN, Change, ChangeId, Ticket
from windlass.core.printable import printable_line
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.store import changes as rows
from windlass.store.store import Event

_ENDS = (ChangeLanded.kind, ChangeStopped.kind)


class ChangeViews:
    """Answers who asks for changes."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def changes(self, caller: Caller, request: ChangesRequest) -> ChangesReply:
        """Lists the changes of a repository."""
        repo = lookup.scope(self._context, caller, request).require_repo().id
        queue = self._context.store.read(partial(rows.open_ones, repo=repo))
        found = queue
        if request.get("all", False):
            found = self._context.store.read(partial(rows.listed, repo=repo))
        return {"changes": [view(change, queue) for change in found]}

    def show(self, caller: Caller, request: ChangeRequest) -> ChangeView:
        """Shows one change."""
        repo = lookup.scope(self._context, caller, request).require_repo().id
        wanted = request["change"]
        found = None
        if core.is_id(wanted):
            found = self._context.store.read(
                lambda connection: rows.find(connection, repo, ChangeId(wanted))
            )
        if found is None:
            raise NotFound(
                f"there is no change {printable_line(wanted)}", "`wl queue` shows what waits"
            )
        return view(found, self._context.store.read(partial(rows.open_ones, repo=repo)))

    async def wait(self, caller: Caller, request: ChangeRequest) -> ChangeView:
        """Tells how a change fared, as soon as it has left the queue."""
        loop, news = asyncio.get_running_loop(), asyncio.Event()

        def committed(events: list[Event]) -> None:
            if any(event.kind in _ENDS for event in events):
                loop.call_soon_threadsafe(news.set)

        with self._context.store.listening(committed):
            while True:
                news.clear()
                shown = await self._context.pools.look(caller, self.show, caller, request)
                if shown["state"] not in OPEN:
                    return shown
                await news.wait()


def view(change: Change, queue: Sequence[Change]) -> ChangeView:
    """One change, with its place among those that wait for the same branch."""
    before = [other.id for other in queue if other.target == change.target]
    return {
        "change": change.id,
        "branch": change.branch,
        "target": change.target,
        "head": change.head,
        "title": change.title,
        "revision": change.revision,
        "state": change.state,
        "why": change.why,
        "position": before.index(change.id) if change.id in before else None,
        "commit": change.commit,
        "tree": change.tree,
        "ticket": _ticket(change.ticket) if change.ticket is not None else None,
    }


def _ticket(ticket: Ticket) -> TicketView:
    fields = msgspec.structs.asdict(ticket)
    shown: TicketView = {**fields, "failed": list(ticket.failed), "paths": list(ticket.paths)}  # type: ignore[typeddict-item]
    return shown
