"""Changes that leave the queue without having landed: said by one event, which the queue goes by.

What is not said here has not left: a change stays in its queue until the event is committed, with
the row in one transaction.
"""

from __future__ import annotations

from windlass.core.events import ChangeStopped
from windlass.core.landing import changes as core
from windlass.core.landing.changes import Change
from windlass.store.store import Writing


def tell(writing: Writing, change: Change, *, state: core.State, why: str) -> None:
    """Says that a change has left, where it is now, and why."""
    event = ChangeStopped(change=change.id, target=change.target, state=state, why=why)
    writing.emit(event, repo=change.repo, subject=core.subject(change.id))
