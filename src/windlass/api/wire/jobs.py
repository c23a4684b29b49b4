"""Jobs, for whoever looks into them."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from windlass.api.wire.request import AnyRequest, Word


class JobsRequest(AnyRequest):
    """Asks for the jobs that are not over, for all, or for one by its id or the start of it."""

    job: NotRequired[Word]
    all: NotRequired[bool]


class JobView(TypedDict):
    """One job."""

    id: str
    kind: str
    subject: str
    repo: str
    status: str
    state: dict[str, Any]
    version: int
    sequence: int
    cursor: int
    wake_at: float | None
    tries: int
    generation: int
    created_at: float
    updated_at: float
    result: dict[str, Any] | None
    error: dict[str, Any] | None
    effects: list[str]
    """What it has under way: the operation of each, and its key."""


class JobsReply(TypedDict):
    """Those that were asked for, the oldest first."""

    jobs: list[JobView]
