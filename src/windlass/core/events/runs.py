"""Events of runs: tasks that go through their pipelines."""

from __future__ import annotations

from windlass.core.events.catalogue import EventData


class ScheduleAsked(EventData, kind="schedule.asked"):
    """Somebody wants the board worked off where that is going on already."""

    workers: int
    tasks: tuple[str, ...] = ()
    """Only these; all of them where none is named."""


class SchedulePaused(EventData, kind="schedule.paused"):
    """No more tasks of a board are begun, or they are again."""

    paused: bool


class RunBegun(EventData, kind="run.begun"):
    """A task is being worked on: its run has an agent."""

    task: str
    run: str
    agent: str


class PlanBegun(EventData, kind="plan.begun"):
    """A task is being planned, and not worked on: its run has an agent."""

    task: str
    run: str
    agent: str


class PlanEnded(EventData, kind="plan.ended"):
    """The planning of a task is over: what became of it, and where the plan lies."""

    task: str
    run: str
    outcome: str
    path: str = ""
    why: str = ""


class StepBegun(EventData, kind="step.begun"):
    """A visit of a step has its session."""

    task: str
    run: str
    step: str
    visit: int
    role: str
    session: int


class RunWaits(EventData, kind="run.waits"):
    """The agent of a run ended its turn and waits: for an answer, for mail, or for its crew."""

    task: str
    run: str
    agent: str
    question: str
    """What it asks the person; nothing where it waits for something else."""
    message: str = ""
    """Which of its questions this is, where it asks several: each is an event."""


class StepIterated(EventData, kind="step.iterated"):
    """A session of a visit is over that another one of the same visit follows."""

    task: str
    run: str
    step: str
    visit: int
    iteration: int
    duty: str
    """`work`, or the look at that iteration which it was: `summary` or `supervisor`."""
    answer: str = ""
    """What a supervisor answered: CONTINUE, STOP or RESTART; nothing where it gave no answer."""


class StepEnded(EventData, kind="step.ended"):
    """A visit of a step is over, with a result."""

    task: str
    run: str
    step: str
    visit: int
    result: str
    seconds: float


class RunSubmitted(EventData, kind="run.submitted"):
    """The steps of a run have passed, and its change waits to land."""

    task: str
    run: str
    change: str


class TaskPostponed(EventData, kind="task.postponed"):
    """A task for which a worker is free waits for another one that works on the same."""

    task: str
    why: str


class BoardHeld(EventData, kind="board.held"):
    """No more tasks of a board are begun for now: money, a usage window, memory or disk."""

    why: str


class TaskEdited(EventData, kind="task.edited"):
    """A task at work says something else on the board than its run goes by."""

    task: str
    run: str
    fields: list[str]


class TaskUnmarked(EventData, kind="task.unmarked"):
    """A marker that a task was to get is not on the board."""

    task: str
    marker: str
    why: str


class RunEnded(EventData, kind="run.ended"):
    """A run is over: what became of its task, and the commit that it landed with."""

    task: str
    run: str
    outcome: str
    marked: bool = True
    """Whether the board says so."""
    why: str = ""
    change: str = ""
    commit: str = ""
