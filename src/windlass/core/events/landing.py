"""Events of changes: proposed for landing, landed, sent back, held."""

from __future__ import annotations

from windlass.core.events.catalogue import EventData


class ChangeQueued(EventData, kind="change.queued"):
    """A revision of a change waits for landing on `target`."""

    change: str
    target: str
    branch: str
    head: str
    revision: int
    needs: tuple[str, ...] = ()
    """Changes that have to land before."""
    alone: bool = False
    """Whether it lands with no other."""


class ChangeLanded(EventData, kind="change.landed"):
    """A change landed: `target` moved to `commit`, whose tree is proven."""

    change: str
    target: str
    commit: str
    tree: str
    was: str
    """Where the target was before."""


class ChangeStopped(EventData, kind="change.stopped"):
    """A change does not land as it is: `state` says how that is called, and `why`."""

    change: str
    target: str
    state: str
    why: str


class ChangeApproved(EventData, kind="change.approved"):
    """Somebody looked at a revision of a change and lets it in."""

    change: str
    head: str
    by: str
