"""What ended agents leave behind: trash and archives."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from windlass.api.wire.request import AnyRequest, Words


class TrashRequest(AnyRequest):
    """Names trash entries."""

    entries: NotRequired[Words]
    older_than: NotRequired[float | None]
    name: NotRequired[str | None]


class ArchiveRequest(AnyRequest):
    """Names an archive."""

    archive: NotRequired[str | None]


class SalvageSummary(TypedDict):
    """How much was salvaged."""

    changed: int
    untracked: int
    ignored: int
    nested: int
    stashes: int
    commits: int
    size: int
    dropped: int


class TrashLocation(TypedDict):
    """Where the work of an ended agent is."""

    id: str
    ref: str
    commit: str
    summary: SalvageSummary


class SalvageView(TypedDict):
    """One entry of the trash."""

    id: str
    agent: str
    ref: str
    commit: str
    at: int
    summary: SalvageSummary


class TrashView(SalvageView):
    """One entry of the trash, as the list shows it."""

    age: float
    how: str | None


class TrashShowReply(SalvageView):
    """One entry of the trash with what it holds."""

    contents: dict[str, Any]


class ArchiveView(TypedDict):
    """The archive of an ended agent; `files` where one was asked for."""

    id: str
    agent: str
    repo: str
    how: str
    goal: str
    at: float
    path: str
    files: NotRequired[list[str]]


class EmptyReply(TypedDict):
    """The trash entries that are gone for good."""

    emptied: list[str]
