"""The log of what happened: `wl log`, and how one event looks to faces.

Following it as it grows is `event_stream`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TypeGuard

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
_AGENT = "agent:"


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
        names = names_in(self._context, events)
        return [event_view(event, names) for event in events]


def names_in(context: Context, events: list[Event]) -> dict[Uid, str]:
    """What the agents are called that these events are of or about."""
    about = (Uid(event.subject[len(_AGENT) :]) for event in events if _is_agent(event.subject))
    meant = {*about, *(event.agent for event in events if event.agent is not None)}
    return context.store.read(lambda c: rows.names(c, meant))


def _is_agent(subject: str | None) -> TypeGuard[str]:
    return subject is not None and subject.startswith(_AGENT)


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
    if not _is_agent(subject):
        return subject
    uid = Uid(subject[len(_AGENT) :])
    return f"{_AGENT}{names.get(uid, uid)}"
