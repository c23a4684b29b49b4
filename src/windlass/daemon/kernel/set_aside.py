"""Intents that no daemon survives: set aside, or halted where they move a branch of the person's.

How often an intent was tried is recorded before each try. Everything that is known of one is kept:
its data, its steps, and here whose agents are attached to it. Nothing is begun with the agents of
one that is set aside but their ending, and when they have all ended it counts as failed. With those
of one that is halted nothing is begun at all, nor does anything else move its branch, before the
person has decided. Either is tried once more, or taken back, if the person wants that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from windlass.core.errors import Conflict
from windlass.core.events import IntentFailed, IntentRetried
from windlass.core.ids import RepoId, Uid
from windlass.daemon.kernel import intent_errors
from windlass.store import rows
from windlass.store.rows import Intent
from windlass.store.store import Writing

MOST_TRIES = 3
"""One that the daemon did not survive so often is the reason for it, in all likelihood."""
IN_AN_OLDER_STORE = "the store is an older one, and nobody knows whether it was done since"
_KEPT = "set_aside"
"""What is attached to an intent that is set aside or halted, in its data."""


def attached(intent: Intent, agents: Iterable[Uid], branch: str = "") -> dict[str, Any]:
    """The data of an intent with its agents, its branch, and why it was being taken back."""
    more = {"agents": list(agents), "branch": branch, "error": intent.error}
    return {**intent.data, _KEPT: {**_kept(intent), **more}}


def agents_of(intent: Intent) -> list[Uid]:
    """The agents that are attached to an intent."""
    return [Uid(uid) for uid in _kept(intent).get("agents", ())]


def branch_of(intent: Intent) -> str:
    """The branch that nothing else moves while an intent is halted."""
    return str(_kept(intent).get("branch", ""))


def _kept(intent: Intent) -> dict[str, Any]:
    kept: dict[str, Any] = intent.data.get(_KEPT, {})
    return kept


def explained(intent: Intent, names: list[str], why: str = "") -> Conflict:
    """What is told of an intent that is set aside, to the person and to whoever asks again."""
    kill = f"; `wl kill {' '.join(names)}` keeps the work and ends what is attached to it"
    return Conflict(
        f"{named(intent, names)} is set aside: {why or _deaths(intent)}; what was done so far"
        " is left as it is",
        f"`wl retry {_handle(intent, names)}` tries it once more{kill if names else ''}",
    )


def halted(intent: Intent, names: list[str], branch: str, state: str, why: str = "") -> Conflict:
    """What is told of an intent that is halted, also to whoever wants to move the same branch."""
    handle = _handle(intent, names)
    return Conflict(
        f"{named(intent, names)} is halted: {why or _deaths(intent)}; {state}; nothing else moves"
        f" {branch} before you have decided",
        f"`wl retry {handle}` tries it once more; `wl retry {handle} --back` gives it up and takes"
        " back what can be",
    )


def named(intent: Intent, names: list[str]) -> str:
    """What an intent is called, by what it does and to which agents."""
    return f"{intent.kind} of {', '.join(names)}" if names else intent.kind


def _deaths(intent: Intent) -> str:
    far = f", after {', '.join(intent.done)}" if intent.done else ""
    way = "taking it back" if intent.error is not None else "it"
    return f"the daemon died {intent.tries} times in {way}{far}"


def _handle(intent: Intent, names: list[str]) -> str:
    """What the person names it by."""
    return names[0] if names else intent.id


def names_of(connection: sa.Connection, agents: Iterable[Uid]) -> list[str]:
    """What those of these agents are called that have not ended."""
    known = (rows.agent(connection, uid) for uid in agents)
    return [agent.id for agent in known if agent is not None and agent.ended_at is None]


def refuse_move(connection: sa.Connection, repo: RepoId, branch: str) -> None:
    """Refuses to move a branch that something halted was to move."""
    for intent in rows.set_aside(connection):
        if intent.status == "halted" and (intent.repo, branch_of(intent)) == (repo, branch):
            raise intent_errors.rebuilt(intent.error or {})


def refuse_attached(writing: Writing, agents: Iterable[Uid], *, ends: bool) -> None:
    """Refuses to begin anything with an agent that is attached to what is set aside or halted.

    What only ends agents is begun with those of one that is set aside.
    """
    wanted = frozenset(agents)
    for intent in rows.set_aside(writing.connection) if wanted else ():
        both = wanted.intersection(agents_of(intent))
        if not both or (ends and intent.status == "set aside"):
            continue
        what = named(intent, names_of(writing.connection, both))
        raise Conflict(
            f"{what} is {intent.status}, and nothing else is begun meanwhile",
            f"{(intent.error or {}).get('hint', '')}; `wl doctor` says why",
        )


def settle(writing: Writing) -> None:
    """Records as failed what is set aside and whose agents have all ended."""
    for intent in rows.set_aside(writing.connection):
        agents = agents_of(intent)
        if intent.status == "halted" or not agents or names_of(writing.connection, agents):
            continue
        failed = rows.change_intent(writing, intent.id, status="failed", updated_at=writing.now)
        event = IntentFailed(intent=failed.id, what=failed.kind, error=failed.error)
        writing.emit(event, repo=failed.repo)


def reopen(writing: Writing, key: str, *, request: str | None, back: bool) -> bool:
    """Has an intent open for one more try, or to be taken back, once for each request.

    False where there is nothing to reopen: it is over, or this very request has been at it before,
    and the daemon died of it again.
    """
    intent = next((known for known in rows.set_aside(writing.connection) if known.id == key), None)
    kept = _kept(intent) if intent is not None else {}
    if intent is None or (request is not None and kept.get("request") == request):
        return False
    writing.emit(IntentRetried(intent=intent.id, what=intent.kind, back=back), repo=intent.repo)
    rows.change_intent(
        writing,
        intent.id,
        status="open",
        tries=MOST_TRIES,
        error=kept.get("error"),
        data={**intent.data, _KEPT: {**kept, "request": request, "back": back}},
        updated_at=writing.now,
    )
    return True


def is_to_be_taken_back(intent: Intent) -> bool:
    """Whether the person wants an open intent taken back that was set aside or halted."""
    return bool(_kept(intent).get("back"))


def given_up(intent: Intent) -> Conflict:
    """Why an intent is taken back that the person wants no more."""
    return Conflict(f"{intent.kind} was given up, and what could be taken back was")
