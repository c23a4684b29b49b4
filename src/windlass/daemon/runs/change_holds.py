"""Why changes of runs are held, and which of them the person has to have tried again.

What waits for the person's approval is none of these, nor what goes on once its target is green.
"""

from __future__ import annotations

import sqlalchemy as sa

from windlass.core.ids import RepoId
from windlass.core.jobs import Job
from windlass.core.landing import holds
from windlass.core.landing import job as landing_job
from windlass.core.landing.changes import OPEN, SATISFIED, Change, ChangeId
from windlass.core.runs.run_state import RunState
from windlass.store import changes as change_rows
from windlass.store import jobs as job_rows


def why(connection: sa.Connection, repo: RepoId, state: RunState) -> str:
    """Why the change of a run is held for good; nothing where it is not, or where it has none."""
    if state.stage != "landing":
        return ""
    change = change_rows.find(connection, repo, ChangeId(state.change))
    held = _why(connection, change) if change is not None else ""
    return f"{state.change} is held: {held}; wl retry {state.task.id} has it tried again" * bool(
        held
    )


def meanwhile(connection: sa.Connection, repo: RepoId, state: RunState) -> str:
    """Why the change of a run is held, also where it goes on once that has passed."""
    if state.stage != "landing":
        return ""
    change = change_rows.find(connection, repo, ChangeId(state.change))
    if change is None or change.state != "held":
        return ""
    return f"{change.id} is held: {change.why}; wl why {change.id}"


def is_held(connection: sa.Connection, job: Job, state: RunState) -> bool:
    """Whether a run waits for the person to have its change tried again."""
    return job.status == "open" and bool(why(connection, job.repo, state))


def _why(connection: sa.Connection, change: Change) -> str:
    if change.state in OPEN:
        kind, target = landing_job.KIND.name, change.target
        queue = job_rows.about(connection, repo=change.repo, kind=kind, subject=target)
        return "" if queue is not None else f"the queue of {target} was set aside"
    if change.state != "held" or change.waits_for_a_person:
        return ""
    if holds.is_halted(change.why, change.target) or _lacks(connection, change):
        return ""
    return change.why or "it was set aside"


def _lacks(connection: sa.Connection, change: Change) -> bool:
    """Whether it waits for another change: it goes on when that has landed."""
    needs = [change_rows.find(connection, change.repo, name) for name in change.needs]
    return any(need is not None and need.state not in SATISFIED for need in needs)
