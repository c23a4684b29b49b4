"""Intents that are set aside: each try ended with the daemon, so no daemon tries them again.

How often an intent was tried is recorded before each try. Of one that is set aside everything is
kept: its data, its steps, and here whose agents are attached to it. Nothing is begun with those but
their ending, and when they have all ended the intent counts as failed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from windlass.core.errors import Conflict
from windlass.core.events import IntentFailed
from windlass.core.ids import Uid
from windlass.store import rows
from windlass.store.rows import Intent
from windlass.store.store import Writing

MOST_TRIES = 3
"""One that the daemon did not survive so often is the reason for it, in all likelihood."""
_KEPT = "set_aside"
"""What is attached to an intent that is set aside, in its data."""


def attached(intent: Intent, agents: Iterable[Uid]) -> dict[str, Any]:
    """The data of an intent with whose agents are attached to it, and why it was taken back."""
    return {**intent.data, _KEPT: {"agents": list(agents), "error": intent.error}}


def agents_of(intent: Intent) -> list[Uid]:
    """The agents that are attached to an intent that is set aside."""
    return [Uid(uid) for uid in intent.data.get(_KEPT, {}).get("agents", ())]


def explained(intent: Intent, names: Iterable[str]) -> Conflict:
    """What is told of an intent that is set aside, to the person and to whoever asks again."""
    named = ", ".join(names)
    of = f" of {named}" if named else ""
    far = f", after {', '.join(intent.done)}" if intent.done else ""
    way = "taking it back" if intent.error is not None else "it"
    return Conflict(
        f"{intent.kind}{of} is set aside: the daemon died {intent.tries} times in {way}{far};"
        " what was done so far is left as it is",
        f"`wl kill {named.replace(',', '')}` keeps the work and ends what is attached to it"
        if named
        else "look with `wl log`, and do the rest anew",
    )


def names_of(connection: sa.Connection, agents: Iterable[Uid]) -> list[str]:
    """What those of these agents are called that have not ended."""
    known = (rows.agent(connection, uid) for uid in agents)
    return [agent.id for agent in known if agent is not None and agent.ended_at is None]


def refuse_attached(writing: Writing, agents: Iterable[Uid]) -> None:
    """Refuses to begin anything with an agent that is attached to what is set aside."""
    wanted = frozenset(agents)
    for intent in rows.set_aside(writing.connection) if wanted else ():
        if both := wanted.intersection(agents_of(intent)):
            named = ", ".join(names_of(writing.connection, both))
            raise Conflict(
                f"{intent.kind} of {named} is set aside, and nothing else is begun meanwhile",
                f"`wl kill {named.replace(',', '')}` keeps its work; `wl doctor` says why",
            )


def settle(writing: Writing) -> None:
    """Has those count as failed that no agent is attached to any more."""
    for intent in rows.set_aside(writing.connection):
        agents = agents_of(intent)
        if agents and not names_of(writing.connection, agents):
            failed = rows.change_intent(writing, intent.id, status="failed", updated_at=writing.now)
            event = IntentFailed(intent=failed.id, what=failed.kind, error=failed.error)
            writing.emit(event, repo=failed.repo)
