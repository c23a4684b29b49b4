"""What people do on the board to tasks that are at work: it is told of, or ends their runs.

A run goes on with the task as it was when it began. A task that is gone for a while is stopped;
what its agent had goes to the trash then (`endings`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from windlass.core.board.tasks import Task
from windlass.core.events import TaskEdited
from windlass.core.jobs import Job
from windlass.core.runs import run, task_copy
from windlass.core.runs.run_state import RunState
from windlass.core.shapes import convert
from windlass.daemon.jobs.ledger import Jobs
from windlass.store.store import Writing

GONE_AFTER = 60.0
"""Seconds without its task until a run is stopped: editors and git take files away for a moment."""
_DROPPED = "N"
GONE = "it is not on the board any more; what its agent had is in the trash: wl trash"


class Edits(NamedTuple):
    """What is known of tasks at work, for the next look."""

    missing: list[str]
    edited: dict[str, list[str]]
    """What of each is another than its run has it."""


def look(
    writing: Writing,
    jobs: Jobs,
    *,
    open_runs: Sequence[Job],
    board: Mapping[str, Task],
    missing: Mapping[str, float],
    edited: Mapping[str, Sequence[str]],
) -> Edits:
    """Tells once of each edit, and stops what nobody wants any more.

    `missing` says since when a task is not there, `edited` what was told already.
    """
    found = Edits([], {})
    tasks = {name.upper(): task for name, task in board.items()}
    for job in open_runs:
        state = convert(job.state, RunState)
        name, task = state.task.id, tasks.get(state.task.id.upper())
        if state.ending is not None:
            continue  # its task may have the marker of that end already
        if task is None:
            found.missing.append(name)
            if writing.now - missing.get(name, writing.now) >= GONE_AFTER:
                jobs.cancel(writing, job, GONE)
        elif task.marker == _DROPPED:
            jobs.cancel(writing, job, f"somebody marked it [{_DROPPED}]")
        elif fields := task_copy.differing(state.task, task_copy.of(task)):
            found.edited[name] = fields
            if list(edited.get(name, ())) != fields:
                told = TaskEdited(task=name, run=job.id, fields=fields)
                writing.emit(told, repo=job.repo, subject=run.subject(name))
    return found
