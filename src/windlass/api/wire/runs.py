"""Runs: the board worked off, task by task."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

import msgspec

from windlass.api.wire.request import AnyRequest, Place, Whole, Word, Words


class RunRequest(AnyRequest):
    """Has the board worked off; where that goes on already, with these workers and tasks too."""

    workers: NotRequired[Whole]
    pipeline: NotRequired[Place]
    driver: NotRequired[Word]
    live: NotRequired[bool]
    plans: NotRequired[bool]
    """Has tasks without a plan planned first."""
    tasks: NotRequired[Words]
    """Only these."""
    enabled: NotRequired[Words]
    """Variables that are `true`, for steps that ask for them."""
    overrides: NotRequired[Words]
    """The variables of the caller's environment that are about roles, as `NAME=value`."""


class RunPreview(TypedDict):
    """What the work on the board takes, once it has begun: looked at before the first agent."""

    target: str
    pays: str
    """What pays for its sessions: an API key, a token, a login."""
    tasks: int
    """Those that wait to be begun."""
    sessions: int
    """How many these take at least: one for each of their steps."""


class RunReply(RunPreview):
    """The schedule of the board, and whether it was there already."""

    job: str
    joined: bool


class RunsRequest(AnyRequest):
    """Asks how the work on the board stands; as soon as more has happened than `after`."""

    after: NotRequired[Whole]
    """The event up to which the caller knows what happened."""
    seconds: NotRequired[Annotated[float, msgspec.Meta(ge=0)]]


class VisitView(TypedDict):
    """One visit of a step that is over."""

    step: str
    visit: int
    role: str
    result: str
    seconds: float
    sessions: int
    iterations: int
    """How often it went round, where its role goes on until it is done."""
    exhausted: bool
    """Whether it used up its iterations, and gave no result."""
    status: str
    """What its result is called, as role and pipeline have it."""
    exit_code: int | None
    """What they would have `wl run` exit with, where it has ended its run."""
    usd: float
    notional_usd: float


class VerdictView(TypedDict):
    """What was decided about a run that had stopped without a result."""

    answer: str
    why: str
    stopped: str
    at: float


class TaskRunView(TypedDict):
    """The newest run of a task."""

    task: str
    title: str
    run: str
    only_plans: bool
    """Whether it ends with the plan of its task, and nothing else of that is done."""
    state: str
    """What it does now; of one that is over, how that ended."""
    is_over: bool
    why: str
    agent: str | None
    step: str
    visit: int
    iteration: int
    duty: str
    """What its session is for: `work`, or a look at the work, as `supervisor`."""
    visits: list[VisitView]
    verdicts: list[VerdictView]
    change: str
    commit: str
    attempts: int
    """How often its change came back."""
    usd: float
    """What it cost so far; `notional_usd` is what a subscription covers."""
    notional_usd: float
    began_at: float
    ended_at: float | None


class RunsReply(TypedDict):
    """Where the work on the board stands, and what happened since the caller knew."""

    job: str | None
    """The schedule; None where none was ever begun."""
    is_over: bool
    workers: int
    paused: bool
    problem: str
    held: str
    """Why no more is begun for now, where that passes by itself."""
    postponed: dict[str, str]
    """Why each task waits for which a worker is free."""
    blocked: list[str]
    failed: list[str]
    """Tasks that the board has as failed when this is over, those of earlier work too."""
    left: int
    """Tasks that are still to be begun."""
    tasks: list[TaskRunView]
    at: int
    """The event up to which this tells everything."""
    events: list[dict[str, Any]]


class TaskRequest(AnyRequest):
    """Asks about one task of the board, or has something done about it."""

    task: Word
    why: NotRequired[Word]


class ReportView(TypedDict):
    """What one visit of a step reported."""

    step: str
    visit: int
    result: str
    text: str


class TaskReply(TypedDict):
    """A task, as its newest run has it; `run` is None where nobody has worked on it."""

    task: str
    title: str
    marker: str | None
    """What stands in its box; None where the board does not have it any more."""
    document: str
    run: TaskRunView | None
    waits: str
    """What it is not begun for: tasks that it depends on, or what is in its way at this moment."""
    edited: list[str]
    """What of it is another on the board than its run goes by, while that is open."""
    reports: list[ReportView]


class PauseRunRequest(AnyRequest):
    """Has no more tasks begun, or has that go on; what is at work goes on to its end."""

    paused: bool


class PauseRunReply(TypedDict):
    """How the schedule stands, and how many tasks are still at work."""

    job: str
    paused: bool
    running: int
