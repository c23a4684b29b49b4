"""Everything that a run does, put together: its operations, and the kinds of its jobs."""

from __future__ import annotations

from windlass.core.jobs import JobKind
from windlass.core.runs import run, schedule
from windlass.daemon.agents.session_life import SessionLife
from windlass.daemon.agents.spawn import Spawns
from windlass.daemon.jobs.ledger import Jobs
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.operations import Operation
from windlass.daemon.landing.judgements import Judgements
from windlass.daemon.landing.submissions import Submissions
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.runs.endings import RunEndings
from windlass.daemon.runs.plannings import Plannings
from windlass.daemon.runs.rounds import Rounds
from windlass.daemon.runs.schedules import Schedules
from windlass.daemon.runs.session_ends import SessionEnds
from windlass.daemon.runs.steps import RunSteps, Wake
from windlass.daemon.runs.tasks import Tasks

KINDS: tuple[JobKind, ...] = (run.KIND, schedule.KIND)


class Runs:
    """The services of runs."""

    def __init__(
        self,
        context: Context,
        jobs: Jobs,
        intents: Intents,
        *,
        spawns: Spawns,
        life: SessionLife,
        fetcher: CommitFetcher,
        submissions: Submissions,
        judgements: Judgements,
        wake: Wake,
    ) -> None:
        self.schedules = Schedules(context, jobs)
        self.plannings = Plannings(context, jobs)
        self._rounds = Rounds(context, jobs)
        self.tasks = Tasks(context, jobs, judgements)
        self._steps = RunSteps(context, intents, spawns, life, fetcher, wake=wake)
        self._session_ends = SessionEnds(context, life, fetcher)
        self._endings = RunEndings(context, intents, submissions, judgements)

    def operations(self) -> tuple[Operation, ...]:
        """What rounds, runs and whoever wants them do."""
        return (
            *self.schedules.operations(),
            self._rounds.operation(),
            *self.tasks.operations(),
            *self.plannings.operations(),
            *self._steps.operations(),
            *self._session_ends.operations(),
            *self._endings.operations(),
        )
