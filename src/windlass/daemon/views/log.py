"""The log of what happened: `wl log`, and how one event looks to faces.

Following it as it grows is `event_stream`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from windlass.api.verbs import Caller
from windlass.api.wire.views import EventView, LogRequest
from windlass.core.errors import NotFound, UserError
from windlass.core.ids import Uid
from windlass.core.landing import changes as landing
from windlass.core.landing.changes import ChangeId
from windlass.core.printable import printable_line
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.store import changes, rows
from windlass.store.store import Event

_MOST = 10_000


class Log:
    """Shows the events that were recorded."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def view(self, caller: Caller, request: LogRequest) -> list[EventView]:
        """The log of an agent, of a change, or of the repository."""
        scope = lookup.scope(self._context, caller, request)
        subject, change = None, request.get("change")
        if change is not None:
            known = landing.is_id(change) and self._context.store.read(
                partial(changes.find, repo=scope.require_repo().id, change=ChangeId(change))
            )
            if not known:
                raise NotFound(
                    f"there is no change {printable_line(change)}", "`wl queue --all` lists them"
                )
            subject = landing.subject(ChangeId(change))
        wanted = request.get("agent")
        if wanted is None and subject is None and scope.caller is not None:
            wanted = scope.caller.id
        agent = None
        if wanted:
            agent = lookup.any_reachable_agent(self._context, scope, wanted, doing="look into")
        last = request.get("last")
        if last is not None and last < 1:
            raise UserError(f"the newest {last} events are none", "give 1 or more")
        repo = scope.repo_id if agent is None else None
        events = self._context.store.read(
            lambda c: rows.events(
                c,
                after=request.get("after", 0),
                repo=repo,
                agent=agent.uid if agent else None,
                subject=subject,
                news=request.get("plain", False),
                last=None if last is None else min(last, _MOST),
                limit=_MOST,
            )
        )
        names = self._context.store.read(rows.names)
        return [event_view(event, names) for event in events]


def event_view(event: Event, names: Mapping[Uid, str]) -> EventView:
    """One event as faces see it: the agent by the name that people know."""
    return EventView(
        id=event.id,
        at=event.at,
        kind=event.kind,
        repo=event.repo,
        agent=names.get(event.agent, event.agent) if event.agent else None,
        subject=_subject_view(event.subject, names),
        data=event.data,
    )


def _subject_view(subject: str | None, names: Mapping[Uid, str]) -> str | None:
    kind, _, name = (subject or "").partition(":")
    return f"{kind}:{names.get(Uid(name), name)}" if kind == "agent" else subject
