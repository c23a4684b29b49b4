"""The schedule of a board: begun by `wl run`, and each round of it begins what is admitted."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import msgspec
import sqlalchemy as sa

from windlass.api.verbs import Caller
from windlass.api.wire.runs import PauseRunReply, PauseRunRequest, RunReply, RunRequest
from windlass.core import jobs as core_jobs
from windlass.core.config import Config
from windlass.core.errors import Conflict, WindlassError
from windlass.core.events import ScheduleAsked, SchedulePaused
from windlass.core.ids import RepoId, RoleName
from windlass.core.pipeline import engine
from windlass.core.pipeline.step_roles import StepRole
from windlass.core.pipeline.steps import Inline, Pipeline
from windlass.core.runs import admission, run, run_state, schedule, task_copy
from windlass.core.runs.admission import Admission
from windlass.core.runs.run_state import RunState
from windlass.core.runs.schedule import ScheduleState
from windlass.core.shapes import convert
from windlass.daemon.gate import gates
from windlass.daemon.jobs.ledger import Jobs
from windlass.daemon.kernel import lookup, repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.runs import markers, preflight
from windlass.project import pipelines, step_roles
from windlass.project.boards import BoardFile
from windlass.store import jobs as job_rows
from windlass.store.rows import Repo
from windlass.store.store import Writing

DEFAULT_WORKERS = 4
_OURS = ("=", "P")
"""Markers that nobody but a run gives."""
_MOST_WORKERS = 1000


class _Round(NamedTuple):
    """What a round begins, and what of it cannot begin."""

    runs: list[RunState]
    problems: list[str]


class Schedules:
    """The operation `run`, the request that begins it, and the rounds that follow."""

    def __init__(self, context: Context, jobs: Jobs) -> None:
        self._context = context
        self._jobs = jobs

    def operations(self) -> tuple[Operation, ...]:
        """A request has no steps: the schedule goes on once it is recorded."""
        return (
            Operation("run", (), lambda _: [], _asked),
            Operation("run.pause", (), lambda _: [], _paused),
            Operation(schedule.ROUND, (Step("admit", self._admit),), lambda _: [], _admitted),
        )

    def begin(self, caller: Caller, request: RunRequest) -> IntentDraft:
        """Checks what runs need, all of it at once; joins the schedule that goes on already."""
        scope = lookup.scope(self._context, caller, request)
        repo = scope.repo or repos.add(self._context, request.get("cwd", ""))
        known = settings.usable(self._context.folders.home, repo.root)
        state = ScheduleState(
            workers=min(request.get("workers") or DEFAULT_WORKERS, _MOST_WORKERS),
            only=tuple(request.get("tasks", [])),
            pipeline=request.get("pipeline", ""),
            driver=request.get("driver", "") or known.config.driver,
            mode="live" if request.get("live") else "headless",
            enabled=tuple(request.get("enabled", [])),
        )
        ready = preflight.require(self._context, repo, state, known.whole())
        state, target = msgspec.structs.replace(state, only=ready.only), ready.gate.target.branch

        def prepare(writing: Writing) -> dict[str, Any]:
            known = job_rows.about(
                writing.connection, repo=repo.id, kind="schedule", subject=schedule.SUBJECT
            )
            if known is not None:
                asked = ScheduleAsked(workers=state.workers, tasks=state.only)
                writing.emit(asked, repo=repo.id, subject=core_jobs.subject(known.id))
                return {"job": known.id, "joined": True, "target": target}
            begun = self._jobs.begin(
                writing,
                "schedule",
                repo=repo.id,
                subject=schedule.SUBJECT,
                state=schedule.begun(state),
            )
            return {"job": begun.id, "joined": False, "target": target}

        return IntentDraft(repo.id, None, prepare)

    def begin_pause(self, caller: Caller, request: PauseRunRequest) -> IntentDraft:
        """Says to the schedule that is open whether it begins more."""
        repo = lookup.scope(self._context, caller, request).require_repo()

        def prepare(writing: Writing) -> dict[str, Any]:
            known = job_rows.about(
                writing.connection, repo=repo.id, kind="schedule", subject=schedule.SUBJECT
            )
            if known is None:
                raise Conflict("no board is being worked off here", "`wl run` begins that")
            paused = SchedulePaused(paused=request["paused"])
            writing.emit(paused, repo=repo.id, subject=core_jobs.subject(known.id))
            running = len(_open_runs(writing.connection, repo.id))
            return {"job": known.id, "paused": request["paused"], "running": running}

        return IntentDraft(repo.id, None, prepare)

    def _admit(self, work: RunningIntent) -> None:
        """Decides from the board as it is now; what is begun is recorded with the decision."""
        if "running" in work.data:
            return
        repo = repos.by_id(self._context, RepoId(work.intent.repo))
        state = convert(
            {key: work.data[key] for key in ScheduleState.__struct_fields__ if key in work.data},
            ScheduleState,
        )
        file, problem = None, ""
        try:
            file = preflight.sound_board(repo)
            if self._mark_again(repo, file):
                file = preflight.sound_board(repo)
        except WindlassError as error:
            problem = error.message
        self._context.store.write(
            partial(self._begin_round, work=work, repo=repo, state=state, file=file, said=problem)
        )

    def _mark_again(self, repo: Repo, file: BoardFile) -> bool:
        """Gives tasks the markers that their runs could not give them when they ended."""
        stale = [task.id for task in file.board.tasks if task.marker in _OURS]
        again = False
        for name in stale:
            find = partial(job_rows.last_about, repo=repo.id, kind="run", subject=run.subject(name))
            job = self._context.store.read(find)
            if job is not None and job.status == "done" and job.result is not None:
                again = True
                markers.put(self._context, repo, name, markers.OF[job.result["outcome"]])
        return again

    def _begin_round(
        self,
        writing: Writing,
        *,
        work: RunningIntent,
        repo: Repo,
        state: ScheduleState,
        file: BoardFile | None,
        said: str,
    ) -> None:
        open_runs = _open_runs(writing.connection, repo.id)
        running = [state.task.id for state in open_runs]
        if file is None or said:
            work.keep_in(writing, running=len(running), waiting=0, blocked=[], problem=said)
            return
        chosen = admission.choose(
            file.board,
            plans=file.plans,
            waits=state.waits,
            running=running,
            at_work=sum(state.stage not in run_state.UNLANDED for state in open_runs),
            workers=state.workers,
            only=state.only,
        )
        ready = self._runs(repo, state, file, chosen)
        for begun in ready.runs:
            self._jobs.begin(
                writing,
                run.KIND.name,
                repo=repo.id,
                subject=run.subject(begun.task.id),
                state=run.begun(begun),
            )
        work.keep_in(
            writing,
            running=len(running) + len(ready.runs),
            waiting=len(chosen.waiting),
            waits=chosen.waits,
            blocked=list(chosen.blocked),
            problem="; ".join(ready.problems),
        )

    def _runs(self, repo: Repo, state: ScheduleState, file: BoardFile, chosen: Admission) -> _Round:
        gate = gates.find(self._context, repo)
        most = gate.config.landing.max_attempts if gate is not None else 1
        config = settings.usable(self._context.folders.home, repo.root).config
        runs, problems = [], []
        for name in chosen.start:
            copy = task_copy.of(file.board.by_id[name])
            try:
                found = pipelines.chosen(
                    name, file.folder, command_line=state.pipeline, config=config.pipeline
                )
            except WindlassError as error:
                problems.append(f"{name}: {error.message}")
                continue
            roles = _roles(found.pipeline, copy.role, file.folder, config)
            runs.append(
                RunState(
                    task=copy,
                    pipeline=step_roles.applied(found.pipeline, file.folder),
                    roles=roles,
                    place=engine.start(found.pipeline, frozenset(state.enabled)),
                    driver=state.driver,
                    mode=state.mode,
                    most_attempts=most,
                )
            )
        return _Round(runs, problems)


def _asked(work: RunningIntent) -> RunReply:
    return {name: work.data[name] for name in ("job", "joined", "target")}  # type: ignore[return-value]


def _paused(work: RunningIntent) -> PauseRunReply:
    return {name: work.data[name] for name in ("job", "paused", "running")}  # type: ignore[return-value]


def _admitted(work: RunningIntent) -> dict[str, Any]:
    names = ("running", "waiting", "waits", "blocked", "problem")
    return {name: work.data[name] for name in names}


def _roles(pipeline: Pipeline, of_task: str, place: str, config: Config) -> dict[str, StepRole]:
    """What the roles of a run say about steps; what nobody knows is found when it is to begin."""
    wanted = {of_task, engine.GENERIC_FIX.agent}
    for step in pipeline.steps:
        wanted |= {step.agent}
        wanted |= {each.agent for each in step.on_result.values() if isinstance(each, Inline)}
    known = wanted.intersection(step_roles.names(place))
    return {
        name: step_roles.find(name, place, configured=config.roles.get(RoleName(name)))
        for name in known
    }


def _open_runs(connection: sa.Connection, repo: RepoId) -> list[RunState]:
    """The runs that are not over."""
    found = job_rows.listed(connection, repo=repo, status="open")
    return [convert(job.state, RunState) for job in found if job.kind == run.KIND.name]
