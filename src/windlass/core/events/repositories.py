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


class RepoMissing(EventData, kind="repo.missing"):
    """A repository with live agents is not where it was: it was moved or deleted."""

    root: str


class ConfigAccepted(EventData, kind="config.accepted"):
    """The person accepted lines of a repository's own configuration: they count from now on."""

    root: str
    keys: list[str]


class ConfigRevoked(EventData, kind="config.revoked"):
    """The person took back what they had accepted of a repository's own configuration."""

    root: str
    keys: list[str]


class RepoRemoved(EventData, kind="repo.removed"):
    """A repository is known no more; its history is kept."""

    root: str


class StoreReplaced(EventData, kind="store.replaced"):
    """The store was lost, damaged or an older one, and what lives was reconciled with it."""

    why: str
    copy: str | None = None
    kept: str | None = None


class ClockStepped(EventData, kind="clock.stepped"):
    """The wall clock was set, or the machine slept; since when agents are as they are moved too."""

    seconds: float


class GitEnded(EventData, kind="git.ended"):
    """Git that an earlier daemon had started was ended, because it went on for too long."""

    programs: list[str]
