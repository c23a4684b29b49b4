"""The pipeline that a task of a board goes through, as the work on that board was begun."""

from __future__ import annotations

from windlass.core.config import Config
from windlass.core.pipeline.steps import Pipeline
from windlass.core.runs import planning
from windlass.core.runs.schedule import ScheduleState
from windlass.project import pipelines
from windlass.project.boards import BoardFile
from windlass.project.pipelines import Chosen


def chosen(task: str, file: BoardFile, state: ScheduleState, config: Config) -> Chosen:
    """The one that command line, board or configuration name, and where it is from."""
    return pipelines.chosen(
        task,
        file.folder,
        command_line=state.pipeline,
        config=config.pipeline,
        board=file.board,
    )


def planned(task: str, file: BoardFile, state: ScheduleState, config: Config) -> Pipeline:
    """The same with what plans the task first, where somebody wants that and it has no plan."""
    found = chosen(task, file, state, config).pipeline
    return planning.with_plan(found) if state.plans and task not in file.plans else found
