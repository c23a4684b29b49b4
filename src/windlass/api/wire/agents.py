"""What is done to agents: requests and replies."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from windlass.api.wire.request import (
    AgentRequest,
    AnyRequest,
    File,
    Patterns,
    Place,
    Text,
    Whole,
    Word,
    Words,
)
from windlass.api.wire.trash import TrashLocation


class SpawnRequest(AnyRequest):
    """Starts an agent."""

    goal: File
    """Of an agent that asks, no more than a message may have."""
    name: NotRequired[Word | None]
    role: NotRequired[Word | None]
    parent: NotRequired[Word | None]
    model: NotRequired[Word | None]
    driver: NotRequired[Word | None]
    script: NotRequired[Place | None]
    script_text: NotRequired[File | None]
    """What stands in it, from who is in a box: it can only give away what it can read."""
    worktree: NotRequired[bool]
    mode: NotRequired[Literal["live", "headless"]]
    allow: NotRequired[Patterns]
    deny: NotRequired[Patterns]
    yolo: NotRequired[bool]
    isolation: NotRequired[Literal["auto", "required", "box", "hooks"] | None]
    network: NotRequired[Literal["host", "proxy", "none"] | None]
    fork: NotRequired[Word | None]
    max_turns: NotRequired[Whole | None]
    max_usd: NotRequired[float | None]
    max_seconds: NotRequired[float | None]
    with_changes: NotRequired[bool]
    """Whether its workspace gets copies of what the person has not committed."""
    land: NotRequired[bool]
    """Whether what it has lands by itself when it is done."""
    anyway: NotRequired[bool]
    """Whether it is started though a usage window is nearly used up."""


class EndRequest(AnyRequest):
    """Ends agents; `tree` takes everything below them too; no agents with `tree` means all."""

    agents: Words
    tree: NotRequired[bool]
    force: NotRequired[bool]


class MergeRequest(AgentRequest):
    """Merges an agent's branch and ends the agent."""

    into: NotRequired[Word | None]
    expect: NotRequired[Word | None]
    """The commit that is to be merged, by its whole id; another one is refused."""
    ungated: NotRequired[bool]
    """Whether a person wants it merged into the target without a verdict."""


class RetryRequest(AnyRequest):
    """Tries once more what was set aside or halted, or takes it back."""

    intent: Word
    back: NotRequired[bool]


class NoteRequest(AgentRequest):
    """Writes a line into an agent's log."""

    text: Text


class AllowRequest(AnyRequest):
    """Allows a running agent more tools, commands or paths."""

    agent: Word
    patterns: Patterns


class ReassignRequest(AnyRequest):
    """Gives an agent another parent, or none."""

    agent: Word
    parent: Word | None


class ResumeRequest(AgentRequest):
    """Goes on with an agent, with other limits where they are given."""

    max_usd: NotRequired[float | None]
    max_seconds: NotRequired[float | None]


class ChangesView(TypedDict):
    """What the person had not committed when an agent was started: how many files, and a few."""

    files: int
    names: list[str]
    carried: bool
    """Whether the agent's workspace has copies of them."""
    problem: str
    """Why they could not be looked at."""


class RemarkView(TypedDict):
    """What a person should know of a session that has begun, and the line that changes it."""

    text: str
    fix: str


class SpawnReply(TypedDict):
    """The agent that was started; `unboxed` says why it has no box, `to_box` what would help."""

    uid: str
    id: str
    branch: str | None
    workspace: str
    base: str
    base_from: str
    role: str
    mode: str
    driver: str
    isolation: str
    network: str
    unboxed: str
    to_box: str
    out_of_box: str
    """The boxed agent with whose conversation it begins, where it has no box itself."""
    withheld: list[str]
    """What the repository's file of its role asks for, and only the person gives."""
    waiting: list[str]
    """The keys of the repository's configuration that were not in force for it."""
    included: int
    """How many ignored files of the person's checkout its workspace has copies of."""
    left_out: list[str]
    """Those that it has not, a hundred at most: links that lead elsewhere, and closed files."""
    changes: ChangesView | None
    """What the person has not committed; None where an agent asked, or none is kept."""
    submodules: list[str]
    """The folders of its workspace that are submodules, and empty."""
    remarks: list[RemarkView]
    """What it has of the person's own, and what not; told once in a repository unless it fails."""
    lacks: str
    """Why its workspace has not what the gate's checks need; empty where nothing is lacking."""


class EndedAgent(TypedDict):
    """An agent that was ended, and its work if it had any."""

    id: str
    uid: str
    trash: TrashLocation | None
    late: list[TrashLocation]
    """What others wrote there while it was being ended, if anything."""
    archived: str | None
    """Where its workspace is, if its repository was gone and nothing could be salvaged to it."""


class FailedAgent(TypedDict):
    """One of several agents with which something failed, and why; with the others it is done."""

    id: str
    uid: str
    kind: str
    message: str
    hint: str


class EndReply(TypedDict):
    """Who ended and who could not be, the uids of those who have another parent for it, and notes.

    Only where several were to end are there some that could not be; one alone is refused.
    """

    ended: list[EndedAgent]
    failed: list[FailedAgent]
    orphans: list[str]
    notes: list[str]


class MergeReply(EndReply):
    """What was merged: `into` has moved from `was` to `commit`."""

    into: str
    tip: str
    """The agent's commit that was merged."""
    commit: str
    was: str
    verdict: str


class RetryReply(TypedDict):
    """What was tried once more, and is done; or was taken back."""

    id: str
    kind: str
    back: bool


class MergeCheckReply(TypedDict):
    """What a merge would mean, and what stands against it."""

    agent: str
    into: str
    gated: bool
    """Whether it goes through the gate and the queue."""
    tip: str
    """The commit that would be merged."""
    uncommitted: list[str]
    problems: list[str]
    protected: list[str]
    clean: bool
    conflicts: list[str]
    ahead: int
    behind: int
    files: int
    submodules: NotRequired[list[str]]
    """Submodules that would be at a commit which the person's own clone of them does not have."""


class SessionReply(TypedDict):
    """An agent that was paused or resumed, and the number of its session."""

    id: str
    uid: str
    state: str
    session: int


class RefreshReply(TypedDict):
    """What became of one agent's branch: where it was, where it is, and why it was left alone."""

    id: str
    outcome: Literal["rebased", "there", "busy", "conflict", "uncommitted", "elsewhere", "undone"]
    why: str
    branch: str
    was: str | None
    onto: str | None
    """The proven commit; None where nothing was looked at."""
    tip: str | None
    commits: int
    """How many were made anew."""
    kept: str | None
    """The ref that keeps where it was; None where nothing moved."""


class InterruptReply(TypedDict):
    """An agent whose turn was stopped."""

    id: str
    state: str


class NoteReply(TypedDict):
    """What was written into whose log."""

    agent: str
    noted: str


class AllowReply(TypedDict):
    """What an agent may use now, and what of it is new."""

    agent: str
    patterns: list[str]
    fresh: list[str]


class ReassignReply(TypedDict):
    """An agent and its parent now."""

    id: str
    parent: str | None


class EndedBefore(TypedDict):
    """When and how an agent had ended that was brought back."""

    ended_at: float
    ended_by: str


class RestoredAgent(TypedDict):
    """An agent that was brought back, or one that has its former parent again."""

    id: str
    uid: str
    parent: NotRequired[str | None]
    entry: NotRequired[str | None]
    archive: NotRequired[str | None]
    branch: NotRequired[str | None]
    workspace: NotRequired[str]
    was: NotRequired[EndedBefore]


class RestoreReply(TypedDict):
    """What was brought back, what could not be as it was, and which operation that undoes."""

    restored: list[RestoredAgent]
    failed: list[FailedAgent]
    notes: list[str]
    undoes: str | None
