"""Where a run of a task stands: data alone, kept between two pieces of news."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from windlass.core.events import agent_subject
from windlass.core.ids import Uid
from windlass.core.landing import changes
from windlass.core.landing.changes import ChangeId
from windlass.core.pipeline import engine
from windlass.core.pipeline.step_roles import StepRole
from windlass.core.pipeline.steps import Pipeline, Step
from windlass.core.runs import planning
from windlass.core.runs.loop import ROLES, Loop
from windlass.core.runs.task_copy import TaskCopy

Stage = Literal[
    "preparing",
    "beginning",
    "working",
    "looking",
    "asking",
    "iterating",
    "closing",
    "submitting",
    "landing",
    "finishing",
]
Outcome = Literal["landed", "planned", "failed", "dropped"]
UNLANDED = frozenset[Stage]({"submitting", "landing", "finishing"})
"""Stages in which nobody works for a run."""


def subjects(state: dict[str, Any]) -> frozenset[str]:
    """What a run hears of: its agent and its change, once there are such."""
    uid, change = state.get("uid"), state.get("change")
    of_agent = {agent_subject(Uid(uid))} if uid else set()
    return frozenset(of_agent | ({changes.subject(ChangeId(change))} if change else set()))


class Visit(msgspec.Struct, frozen=True, kw_only=True):
    """One visit of a step that is over."""

    label: str
    number: int
    role: str
    result: str
    seconds: float
    sessions: int = 1
    iterations: int = 1
    """How often it went round."""
    exhausted: bool = False
    """Whether it used up its iterations, and gave no result."""
    status: str = ""
    """What its result is called, as role and pipeline have it."""
    exit_code: int | None = None
    """What they would have `wl run` exit with, where it has ended its run."""


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a turn or of a session, as the run heard of it."""

    what: Literal["turn", "failed turn", "session", "run budget", "step budget"]
    session: int
    said: str = ""


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """Why a visit stopped without a result, and where the branch was when it began."""

    why: str
    start: str = ""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What was decided about a run that stopped without a result."""

    answer: Literal["retry", "restart", "abort", "defer"]
    why: str
    stopped: str
    at: float


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ends, decided before that is told."""

    outcome: Outcome
    why: str = ""
    commit: str = ""


class RunState(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run stands."""

    task: TaskCopy
    pipeline: Pipeline
    place: engine.State
    roles: dict[str, StepRole] = {}
    """What its roles say about steps, as that was when it began."""
    at_steps: dict[str, StepRole] = {}
    """The same for steps of which their pipeline says more, by the step's id."""
    only_plans: bool = False
    """Whether it ends with the plan of its task: nothing is proposed, and nothing marked."""
    replaces: bool = False
    """Whether that plan takes the place of one that is there."""
    decides: bool = False
    """Whether a role of the repository's own says what becomes of it where it stops."""
    stop: Stop | None = None
    """What that is asked about."""
    verdicts: tuple[Verdict, ...] = ()
    """What that has said so far."""
    sums_up: bool = False
    """Whether iterations are summed up by a role of the repository's own."""
    driver: str = ""
    mode: Literal["live", "headless"] = "headless"
    most_attempts: int = 3
    stage: Stage = "preparing"
    at_work: bool = False
    """Whether an effect is under way."""
    uid: str = ""
    session: int = 0
    sessions: int = 0
    """Those of this visit."""
    said: str = ""
    result: str = ""
    asked: bool = False
    """Whether this visit was asked once more for its result."""
    loop: Loop = Loop()
    """Which iteration of this visit it is."""
    anew: bool = False
    """Whether the next session of this visit begins a conversation."""
    failures: int = 0
    deaths: int = 0
    """How often in a row a session of this visit ended before its turn did."""
    model_failures: int = 0
    """Turns in a row that ended because the model could not be asked."""
    heard: Heard | None = None
    """What happened to its agent while an effect was under way: judged when that is over."""
    gone: bool = False
    """Whether its agent has ended."""
    change: str = ""
    attempts: int = 0
    """How often its change came back."""
    ticket: str = ""
    """Why it came back last."""
    began_at: float = 0.0
    visits: tuple[Visit, ...] = ()
    beside: str = ""
    """What is to be said of commits that its branch lacked when it was proposed."""
    ending: Ending | None = None
    wake_at: float | None = None
    until: float = 0.0
    """When the time of this visit is over."""
    held: str = ""
    """Why its agent may not begin or go on yet; nothing where it may."""
    turn: float = 0.0
    """When its model is to be asked, of those that waited for it."""
    outage: str = ""
    """How its model failed that it waits for."""
    noted: bool = False
    """Whether that was noted for all others that ask the same model."""
    rested: bool = False
    """Whether its agent rested when that was looked at: it has all of its time again."""

    @property
    def label(self) -> str:
        """The step that runs, as people are told it."""
        return engine.label(self.pipeline, self.place)

    @property
    def role(self) -> StepRole:
        """The role of the step that runs."""
        runs = engine.running(self.pipeline, self.place)
        name = self.role_of(runs.agent) if runs is not None else ""
        usual = self.roles.get(name, StepRole(name=name))
        return self.at_steps.get(runs.id, usual) if isinstance(runs, Step) else usual

    @property
    def session_role(self) -> StepRole:
        """The role of the session that runs: that of the step, or of who looks at its work."""
        name = ROLES.get(self.loop.duty)
        return self.roles.get(name, StepRole(name=name)) if name else self.role

    @property
    def only_looks(self) -> bool:
        """Whether the session that runs is to leave tree and branch as it found them."""
        runs = engine.running(self.pipeline, self.place)
        by_step = isinstance(runs, Step) and runs.readonly
        return self.loop.duty != "work" or self.role.readonly or by_step

    def role_of(self, wanted: str) -> str:
        """The role of a step; a task may name another one for what is done of it first."""
        is_first = wanted == planning.first_work(self.pipeline) and not self.only_plans
        return self.task.role if self.task.role and is_first else wanted

    @property
    def visit(self) -> int:
        """Which visit of that step this is; the first is 1."""
        return 1 + sum(visit.label == self.label for visit in self.visits)
