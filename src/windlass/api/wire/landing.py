"""Changes: proposed for landing, waited for, shown."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from windlass.api.wire.request import AnyRequest, Word, Words

State = Literal[
    "draft",
    "queued",
    "gating",
    "landed",
    "rejected",
    "conflict",
    "held",
    "dropped",
    "nothing-to-land",
]


class SubmitRequest(AnyRequest):
    """Proposes what an agent or a branch has; one that is proposed already has a new revision."""

    change: NotRequired[Word]
    """An agent, a branch or a change; left out by an agent that means itself."""
    title: NotRequired[Word]
    task: NotRequired[Word]
    needs: NotRequired[Words]
    """Changes that have to land before."""
    expect: NotRequired[Word]
    """The commit that the branch has to be at."""
    keep: NotRequired[bool]
    """Whether the agent lives on when it has landed."""
    delete: NotRequired[bool]
    unattended: NotRequired[bool]


class ChangeRequest(AnyRequest):
    """Asks about one change, by its id or its branch."""

    change: Word


class JudgeRequest(AnyRequest):
    """Approves, blocks or drops a change."""

    change: Word
    why: NotRequired[Word]
    expect: NotRequired[Word]
    """The head that was looked at."""


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
    tail: str
    paths: list[str]
    reproduce: str


class RevisionView(TypedDict):
    """What became of one head of a change's branch."""

    revision: int
    head: str
    state: State
    why: str
    at: float


class ApprovalView(TypedDict):
    """Who let a revision in, and when."""

    by: str
    at: float


class ChangeView(TypedDict):
    """One change, and where it stands; `position` counts those before it in the queue."""

    id: str
    change: str
    branch: str
    target: str
    head: str
    title: str
    task: str
    author: str | None
    revision: int
    revisions: list[RevisionView]
    state: State
    why: str
    needs: list[str]
    guards: list[str]
    approval: ApprovalView | None
    blocked: str
    attempts: int
    position: int | None
    was: str | None
    commit: str | None
    tree: str | None
    verdict: str
    usd: float | None
    landed_at: float | None
    ticket: TicketView | None
    left_out: list[str]
    """Uncommitted files of the author's that are not part of it, where it was proposed now."""


class ChangesReply(TypedDict):
    """Changes in the order of their numbers."""

    changes: list[ChangeView]
