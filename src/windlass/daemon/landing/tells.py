"""Who hears what became of a change that did not land: its author by mail, or the person.

An agent mends what came back as often as `landing.max_attempts` says, also one that has ended;
where a run leads it, the run goes on with the ticket, and tells when it gives up.
"""

from __future__ import annotations

from typing import Literal

from windlass.core.crew import Agent
from windlass.core.landing import changes as core
from windlass.core.landing import orphans
from windlass.core.landing.changes import Change
from windlass.core.mail.notices import Type
from windlass.daemon.landing import tickets
from windlass.daemon.mail import from_windlass, notices
from windlass.store import rows as agent_rows
from windlass.store.store import Writing

CAME_BACK = frozenset({"rejected", "conflict"})


def mending_agent(writing: Writing, change: Change, *, most: int) -> Agent | None:
    """The agent that is to mend a change by itself, also one that has ended."""
    author = _author(writing, change)
    return author if _mender(change, author, most=most) == "author" else None


def tell_author(writing: Writing, change: Change, *, most: int) -> None:
    """Tells whoever is to mend it; an author that has ended hears of it once it is back."""
    author = _author(writing, change)
    mender = _mender(change, author, most=most)
    if mender == "person":
        tell_person(writing, change, most=most)
    elif mender == "author" and author is not None and author.ended_at is None:
        give_ticket(writing, change, author, most=most)


def give_ticket(
    writing: Writing, change: Change, author: Agent, *, most: int, back: bool = False
) -> None:
    """Puts a ticket into its author's mailbox; `back` says that it had ended."""
    if change.ticket is None:
        raise AssertionError(change)
    text = tickets.to_author(change, change.ticket, most=most, back=back)
    from_windlass.say(writing, author, text, topic=f"change:{change.id}")


def tell_person(writing: Writing, change: Change, *, most: int, why: str = "") -> None:
    """Tells the person of it, and why its author could not be brought back for it."""
    author = _author(writing, change)
    text = tickets.to_person(change, author.id if author else None, most=most)
    more = f"; {author.id} cannot be brought back: {why}" if why and author else ""
    notices.post(writing, change.repo, "windlass", "waiting", f"{text}{more}", by_hand=True)


def tell_of_ending(writing: Writing, was: Change) -> None:
    """Tells the person what becomes of a change, as it was when its author ended."""
    author = _author(writing, was)
    if author is None:
        raise AssertionError(was)
    waits = was.state not in (*core.OPEN, "draft", "proposed")
    kind: Type = "waiting" if waits else "complete"
    text = orphans.told(was.id, was.state, author.id)
    notices.post(writing, was.repo, "windlass", kind, text, by_hand=True)


def _author(writing: Writing, change: Change) -> Agent | None:
    uid = change.author
    return agent_rows.agent(writing.connection, uid) if uid is not None else None


def _mender(
    change: Change, author: Agent | None, *, most: int
) -> Literal["run", "author", "person"]:
    if change.state not in CAME_BACK or author is None:
        return "person"
    if author.run:
        return "run"
    return "author" if change.attempts < most else "person"
