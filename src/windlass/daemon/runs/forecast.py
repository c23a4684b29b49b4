"""What the work on a board takes at least, told before it begins: its tasks, and their sessions."""

from __future__ import annotations

from typing import NamedTuple

from windlass.core.board.tasks import PENDING
from windlass.core.config import Config
from windlass.core.pipeline.steps import Pipeline
from windlass.core.runs.schedule import ScheduleState
from windlass.daemon.runs import task_pipelines
from windlass.project.boards import BoardFile


class Forecast(NamedTuple):
    """How much there is to do."""

    tasks: int
    sessions: int
    """One for each step of a task that nothing passes over: loops and what is mended take more."""


def of_board(file: BoardFile, state: ScheduleState, config: Config) -> Forecast:
    """Counts the tasks that wait to be begun, as far as they are wanted."""
    tasks = sessions = 0
    for task in file.board.tasks:
        if task.marker != PENDING or (state.only and task.id not in state.only):
            continue
        pipeline = task_pipelines.planned(task.id, file, state, config)
        tasks += 1
        sessions += _steps(pipeline, frozenset(state.enabled))
    return Forecast(tasks, sessions)


def _steps(pipeline: Pipeline, enabled: frozenset[str]) -> int:
    return sum(not step.enabled_by or step.enabled_by in enabled for step in pipeline.steps)
