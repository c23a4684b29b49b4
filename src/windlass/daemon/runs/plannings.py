"""Plans that a person has agents make of tasks: begun, joined, followed and stopped.

Each is a run of one step that ends with the plan. It is the one open run of its task, so nobody
works on a task that is being planned, and nobody plans one that is worked on.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import sqlalchemy as sa

from windlass.api.verbs import Caller
from windlass.api.wire.plans import (
    PlanReply,
    PlanRequest,
    PlanStopReply,
    PlanStopRequest,
    PlanView,
    PlanWaitRequest,
)
from windlass.core.board import edits as board_edits
from windlass.core.board.tasks import COMPLETE, MARKERS, NOT_PLANNED, PENDING
from windlass.core.errors import Conflict, NotFound
from windlass.core.events import (
    PlanBegun,
    PlanEnded,
    RunWaits,
    StepBegun,
    StepEnded,
    StepIterated,
)
from windlass.core.ids import RepoId
from windlass.core.jobs import Job, JobId
from windlass.core.pipeline import engine
from windlass.core.printable import printable_line
from windlass.core.runs import moves, overrides, planning, run, task_copy
from windlass.core.runs.run_state import RunState
from windlass.core.runs.schedule import ScheduleState
from windlass.core.shapes import convert
from windlass.daemon.jobs.ledger import Jobs
from windlass.daemon.kernel import lookup, repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.runs import preflight, progress, records, run_roles, task_runs
from windlass.project import plans, step_roles
from windlass.project.boards import BoardFile
from windlass.store import jobs as job_rows
from windlass.store import rows
from windlass.store.rows import Repo
from windlass.store.store import Writing

_KINDS = frozenset(
    kind.kind for kind in (PlanBegun, StepBegun, RunWaits, StepIterated, StepEnded, PlanEnded)
)
_FAILED = "*"
_PLANNABLE = (PENDING, _FAILED)
"""Markers of tasks that are yet to be done, or to be tried again."""


class Plannings:
    """The operations `plan` and `plan.stop`, and the wait for a plan."""

    def __init__(self, context: Context, jobs: Jobs) -> None:
        self._context = context
        self._jobs = jobs

    def operations(self) -> tuple[Operation, ...]:
        """A request has no steps: the run goes on once it is recorded."""
        return (
            Operation("plan", (), lambda _: [], _asked),
            Operation("plan.stop", (), lambda _: [], _stopped),
        )

    def begin(self, caller: Caller, request: PlanRequest) -> IntentDraft:
        """Checks what planning needs, unless somebody plans the task already: that is joined."""
        scope = lookup.scope(self._context, caller, request)
        repo = scope.repo or repos.add(self._context, request.get("cwd", ""))
        file = preflight.board_file(repo)
        name = board_edits.require(file.board, request["task"]).id
        if self._context.store.read(partial(_open, repo=repo.id, task=name)) is not None:
            return IntentDraft(repo.id, None, partial(_require_joined, repo=repo, task=name))
        state, pays = self._checked(repo, file, name, request)

        def prepare(writing: Writing) -> dict[str, Any]:
            if (joined := _joined(writing, repo, name)) is not None:
                return joined
            begun = self._jobs.begin(
                writing,
                run.KIND.name,
                repo=repo.id,
                subject=run.subject(name),
                state=moves.begun(state),
            )
            return {"task": name, "run": begun.id, "joined": False, "pays": pays}

        return IntentDraft(repo.id, None, prepare)

    def _checked(
        self, repo: Repo, file: BoardFile, name: str, request: PlanRequest
    ) -> tuple[RunState, str]:
        """The run of a planning at its beginning, and what pays for it."""
        _require_plannable(file, name)
        again = request.get("again", False)
        if plans.is_there(file.folder, name) and not again:
            raise Conflict(
                f"there is a plan for {name} already: .windlass/plans/{name}.md",
                "--again has another one made, and keeps that one beside it",
            )
        known = settings.usable(self._context.folders.home, repo.root)
        asked = ScheduleState(
            workers=1,
            driver=request.get("driver", "") or known.config.driver,
            mode="live" if request.get("live") else known.config.run.sessions,
            overrides=overrides.read(request.get("overrides", [])),
        )
        pays = preflight.require_planning(self._context, repo, asked, known.whole())
        copy = task_copy.require_short(task_copy.of(file.board.by_id[name]))
        pipeline = planning.alone()
        roles = run_roles.of_run(pipeline, "", file.folder, known.config, asked.overrides)
        state = RunState(
            task=copy,
            pipeline=step_roles.applied(pipeline, file.folder),
            roles=roles.roles,
            place=engine.start(pipeline, frozenset()),
            only_plans=True,
            replaces=again,
            driver=asked.driver,
            mode=asked.mode,
        )
        return state, pays

    def begin_stop(self, caller: Caller, request: PlanStopRequest) -> IntentDraft:
        """Has the planning of a task end; its agent is ended with it."""
        repo = lookup.scope(self._context, caller, request).require_repo()
        wanted = request["task"]

        def prepare(writing: Writing) -> dict[str, Any]:
            job = _open(writing.connection, repo.id, wanted)
            if job is None or not _plans(job):
                raise Conflict(f"nobody plans {printable_line(wanted)}", f"wl show {wanted}")
            self._jobs.cancel(writing, job, "stopped with `wl plan --stop`")
            return {"task": job.state["task"]["id"], "run": job.id}

        return IntentDraft(repo.id, None, prepare)

    def look(self, _: Caller, request: PlanWaitRequest) -> PlanView:
        """Shows where a planning stands."""
        after, now = request.get("after"), self._context.clock.now()
        find = partial(_shown, job_id=JobId(request["run"]), after=after, now=now)
        shown: PlanView = self._context.store.read(find)
        if shown["path"]:
            reports = records.reports(self._context, JobId(request["run"]))
            shown["text"] = reports[-1].text if reports else ""
        return shown

    async def wait(self, caller: Caller, request: PlanWaitRequest) -> PlanView:
        """Tells as soon as something happened that the caller does not know, or it is over."""
        return await progress.of(self._context, self.look, caller, request, kinds=_KINDS)


def of_task(context: Context, repo: Repo, task: str) -> Job | None:
    """The open planning of a task; None where nobody plans it."""
    job = context.store.read(partial(_open, repo=repo.id, task=task))
    return job if job is not None and _plans(job) else None


def _open(connection: sa.Connection, repo: RepoId, task: str) -> Job | None:
    about = run.subject(task)
    return job_rows.about(connection, repo=repo, kind=run.KIND.name, subject=about)


def _plans(job: Job) -> bool:
    return convert(job.state, RunState).only_plans


def _joined(writing: Writing, repo: Repo, task: str) -> dict[str, Any] | None:
    """The planning that goes on already; refuses a task that is worked on."""
    job = _open(writing.connection, repo.id, task)
    if job is None:
        return None
    if not _plans(job):
        raise Conflict(f"{task} is at work already", f"see how far: wl show {task}")
    return {"task": task, "run": job.id, "joined": True, "pays": ""}


def _require_joined(writing: Writing, *, repo: Repo, task: str) -> dict[str, Any]:
    joined = _joined(writing, repo, task)
    if joined is None:
        raise Conflict(f"who was at {task} has just ended", f"see what came of it: wl show {task}")
    return joined


def _require_plannable(file: BoardFile, name: str) -> None:
    """Refuses a task of which nothing is to be done any more, or that somebody works on."""
    task = file.board.by_id[name]
    marker = COMPLETE if file.board.finished(task) else task.marker
    if marker in _PLANNABLE:
        return
    said = "is done" if marker == COMPLETE else f"is {MARKERS[marker]}"
    hint = "mark it [ ] on the board first"
    if marker not in (COMPLETE, NOT_PLANNED):
        hint = f"`wl show {name}` says who works on it"
    raise Conflict(f"{name} {said}: [{marker}]", hint)


def _shown(connection: sa.Connection, *, job_id: JobId, after: int | None, now: float) -> PlanView:
    job = job_rows.find(connection, job_id)
    if job is None or job.kind != run.KIND.name or not _plans(job):
        raise NotFound(f"no planning {printable_line(job_id)}", "`wl plan TASK --agent` begins one")
    return {
        "run": task_runs.shown(connection, [job], now=now)[0],
        "is_over": job.status != "open",
        "path": str((job.result or {}).get("plan", "")),
        "text": "",
        "at": rows.newest_event(connection),
        "events": _events(connection, job, after) if after is not None else [],
    }


def _events(connection: sa.Connection, job: Job, after: int) -> list[dict[str, Any]]:
    return [
        {"kind": event.kind, "at": event.at, **event.data}
        for event in rows.events(connection, after=after, repo=job.repo)
        if event.kind in _KINDS and event.data.get("run") == job.id
    ]


def _asked(work: RunningIntent) -> PlanReply:
    return {name: work.data[name] for name in PlanReply.__annotations__}  # type: ignore[return-value]


def _stopped(work: RunningIntent) -> PlanStopReply:
    return {"task": work.data["task"], "run": work.data["run"]}
