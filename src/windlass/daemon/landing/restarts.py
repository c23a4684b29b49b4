"""What a restart of the daemon ends of the life of a change: nothing that a job goes on with.

A change is in the gate as long as its queue has a try of it; that outlives the daemon, with the
run that proves it. Of one that nothing tries any more the lifecycle hears `startup.reset`.
"""

from __future__ import annotations

import sqlalchemy as sa

from windlass.core import shapes
from windlass.core.landing import job as landing_job
from windlass.core.landing.changes import Change
from windlass.core.landing.queue import LandingState
from windlass.daemon.landing import moves
from windlass.store import changes as rows
from windlass.store import jobs as job_rows
from windlass.store import rows as agent_rows
from windlass.store.store import Writing


def reset(writing: Writing) -> None:
    """Has changes wait again that were being tried, and are not."""
    for repo in agent_rows.repos(writing.connection):
        for change in rows.listed(writing.connection, repo.id, states=moves.life().running):
            if not _is_tried(writing.connection, change):
                moves.move(writing, change, "startup.reset")


def _is_tried(connection: sa.Connection, change: Change) -> bool:
    kind = landing_job.KIND.name
    job = job_rows.about(connection, repo=change.repo, kind=kind, subject=change.target)
    if job is None:
        return False
    state = shapes.convert(job.state, LandingState)
    if state.busy == landing_job.TRY:
        return True  # it may have been begun, and the queue has not heard of it yet
    groups = [tried.group for tried in state.tries]
    if state.pushed is not None:
        groups.append(state.pushed["tried"]["group"])
    return any(change.id in group for group in groups)
