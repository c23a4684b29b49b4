"""Changes: proposed for landing, waited for, shown."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict

import msgspec

from windlass.api.wire.request import AnyRequest, Whole, Word, Words
from windlass.core.landing.changes import State


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


class ChangeWaitRequest(ChangeRequest):
    """Waits until a change has left the queue, or so many seconds."""

    seconds: NotRequired[Annotated[float, msgspec.Meta(ge=0)]]


class JudgeRequest(AnyRequest):
    """Approves, blocks or drops a change."""

    change: Word
    why: NotRequired[Word]
    expect: NotRequired[Word]
    """The head that was looked at."""


class ChangesRequest(AnyRequest):
    """Asks for the changes that wait: for the gate, or for somebody; for all if wanted."""

    all: NotRequired[bool]


class ChangeDiffRequest(AnyRequest):
    """Asks what a change would bring to its target, or what it brought."""

    change: Word
    stat: NotRequired[bool]


class ChangeDiffReply(TypedDict):
    """A difference in base64; `base` and `tip` are the commits that it leads from and to."""

    id: str
    state: State
    target: str
    base: str
    tip: str
    committed: str


class CandidateView(TypedDict):
    """A branch with commits that the target lacks."""

    branch: str
    agent: str | None
    """The agent whose branch it is."""
    commits: int
    subject: str
    """Of its newest commit."""
    change: str | None
    """The change that it is proposed as, with just these commits."""
    state: State | None


class CandidatesReply(TypedDict):
    """What could be merged, the newest first."""

    target: str
    candidates: list[CandidateView]


class LandingsRequest(AnyRequest):
    """Asks for the newest commits that the target moved to."""

    last: NotRequired[Whole]


class LandedChangeView(TypedDict):
    """A change as part of what landed with one commit."""

    id: str
    title: str
    branch: str
    task: str | None
    agent: str | None
    usd: float | None
    """What its author had spent by then; not known of a person's."""
    undone_by: str | None
    """The change that has taken it back since."""


class LandingView(TypedDict):
    """One commit that the target moved to."""

    commit: str
    tree: str
    verdict: str
    """How its tree is known to be good or not; empty where nobody has judged it."""
    at: float
    subject: str
    by: Literal["windlass", "outside"]
    """Who moved the target there: Windlass, or somebody beside it."""
    changes: list[LandedChangeView]


class LandingsReply(TypedDict):
    """The first parents of the target, the newest first."""

    target: str
    landings: list[LandingView]


class CommitRequest(AnyRequest):
    """Asks where a commit came from."""

    commit: Word


class TargetView(TypedDict):
    """The branch that changes land on, and what is known of its tip."""

    branch: str
    tip: str
    tree: str
    outcome: Literal["passed", "failed", "could-not-run", "ran-nothing"] | None
    """None where nobody has judged its tree."""
    why: str


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
    landed: list[str]
    """What landed where it conflicts since it began."""
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
    author_ended: bool
    """Whether that agent is not there any more, and its branch with it."""
    revision: int
    revisions: list[RevisionView]
    state: State
    why: str
    needs: list[str]
    reverts: str | None
    """The change that this one takes back."""
    undone_by: str | None
    """The change that has taken this one back, where it has landed."""
    guards: list[str]
    approval: ApprovalView | None
    blocked: str
    attempts: int
    position: int | None
    was: str | None
    commit: str | None
    tree: str | None
    verdict: str
    """How the tree that it makes was judged; empty before that."""
    usd: float | None
    landed_at: float | None
    ticket: TicketView | None
    left_out: list[str]
    """Uncommitted files of the author's that are not part of it, where it was proposed now."""


class CommitReply(TypedDict):
    """Where a commit came from: what it landed with, and the changes that have it."""

    commit: str
    subject: str
    target: str
    landing: LandingView | None
    """None where the target has not got it."""
    changes: list[ChangeView]


class LastLandingView(TypedDict):
    """The change that landed last."""

    id: str
    title: str
    landed_at: float | None


class UnfinishedReply(TypedDict):
    """What is not over: the changes, which of them wait for a person, and the target."""

    target: TargetView | None
    """None where nothing says when its trees are good."""
    gateless: str
    """Why there is no target, with what to do about it; else empty."""
    last: LastLandingView | None
    """None where nothing has landed."""
    retiring: list[str]
    """The agents that are there still, though what they had has landed: they are being ended."""
    done: list[str]
    """The agents that are kept, of whose branch everything has landed."""
    changes: list[ChangeView]
    waiting: list[str]
    """Those that nothing becomes of before a person does something."""


class ChangesReply(TypedDict):
    """Changes in the order of their numbers."""

    changes: list[ChangeView]
