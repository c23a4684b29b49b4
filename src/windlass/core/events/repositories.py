"""Events of repositories: which are known, and where."""

from __future__ import annotations

from windlass.core.events.catalogue import EventData


class RepoAdded(EventData, kind="repo.added"):
    """A repository is known from now on."""

    root: str


class RepoMoved(EventData, kind="repo.moved"):
    """A known repository was found in another folder."""

    root: str
    was: str


class RepoRemoved(EventData, kind="repo.removed"):
    """A repository is known no more; its history is kept."""

    root: str
