"""Changes: proposed for landing, waited for, shown."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from windlass.api.wire.request import AnyRequest, Word

State = Literal[
    "queued", "gating", "landed", "rejected", "conflict", "held", "dropped", "nothing-to-land"
]


class SubmitRequest(AnyRequest):
    """Proposes a branch for landing; one that is proposed already has a new revision."""

    branch: Word
    title: NotRequired[Word]


class ChangeRequest(AnyRequest):
    """Asks about one change, by its id or its branch."""

    change: Word


class ChangesRequest(AnyRequest):
    """Asks for the changes that the queue works on; all of them where that is wanted."""

    all: NotRequired[bool]


class TicketView(TypedDict):
    """Why a change did not land, with what is needed to mend it."""

    why: str
    base: str
    tree: str
    outcome: str
    command: str
    failed: list[str]
    log: str
    paths: list[str]
    reproduce: str


class ChangeView(TypedDict):
    """One change, and where it stands; `position` counts those before it in the queue."""

    change: str
    branch: str
    target: str
    head: str
    title: str
    revision: int
    state: State
    why: str
    position: int | None
    commit: str | None
    tree: str | None
    ticket: TicketView | None


class ChangesReply(TypedDict):
    """Changes in the order of their numbers."""

    changes: list[ChangeView]
