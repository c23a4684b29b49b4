"""The effect `landing.cancel`: runs of the gate that nobody needs end, and free their slots.

Only those that a queue has begun: what the person asked for is theirs.
"""

from __future__ import annotations

from windlass.core import shapes
from windlass.core.gate import job as gate_job
from windlass.core.gate.job import GateState
from windlass.core.jobs import Job, JobId
from windlass.core.landing import job as landing_job
from windlass.daemon.jobs.ledger import Jobs
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.store import jobs as rows
from windlass.store.store import Writing

_WHY = "what it was for has left the queue, or is another by now"


class Cancellations:
    """Ends runs of the gate."""

    def __init__(self, context: Context, jobs: Jobs) -> None:
        self._context = context
        self._jobs = jobs

    def operation(self) -> Operation:
        """One step; the run itself decides how it ends."""
        step = Step("cancel", self._cancel)
        return Operation(landing_job.CANCEL, (step,), lambda _: [], lambda _: {})

    def _cancel(self, work: RunningIntent) -> None:
        def change(writing: Writing) -> None:
            for run in work.data["runs"]:
                found = rows.find(writing.connection, JobId(run))
                if found is not None and found.status == "open" and _is_a_queues(found):
                    self._jobs.cancel(writing, found, _WHY)

        work.with_next_record(change)


def _is_a_queues(job: Job) -> bool:
    return job.kind == gate_job.KIND.name and not shapes.convert(job.state, GateState).tells
