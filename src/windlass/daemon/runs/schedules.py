"""The schedule of a board: begun, joined or paused by a person; its rounds are `rounds`'."""

from __future__ import annotations

from typing import Any

import msgspec

from windlass.api.verbs import Caller
from windlass.api.wire.runs import (
    PauseRunReply,
    PauseRunRequest,
    RunPreview,
    RunReply,
    RunRequest,
)
from windlass.core import jobs as core_jobs
from windlass.core.errors import Conflict
from windlass.core.events import ScheduleAsked, SchedulePaused
from windlass.core.runs import overrides, schedule
from windlass.core.runs.schedule import ScheduleState
from windlass.daemon.jobs.ledger import Jobs
from windlass.daemon.kernel import lookup, repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.runs import forecast, preflight, rounds
from windlass.store import jobs as job_rows
from windlass.store.rows import Repo
from windlass.store.store import Writing

DEFAULT_WORKERS = 4
_MOST_WORKERS = 1000


class Schedules:
    """The operations `run` and `run.pause`, and the requests that begin them."""

    def __init__(self, context: Context, jobs: Jobs) -> None:
        self._context = context
        self._jobs = jobs

    def operations(self) -> tuple[Operation, ...]:
        """A request has no steps: the schedule goes on once it is recorded."""
        return (
            Operation("run", (), lambda _: [], _asked),
            Operation("run.pause", (), lambda _: [], _paused),
        )

    def begin(self, caller: Caller, request: RunRequest) -> IntentDraft:
        """Checks what runs need, all of it at once; joins the schedule that goes on already."""
        repo, state, preview = self._checked(caller, request)

        def prepare(writing: Writing) -> dict[str, Any]:
            known = job_rows.about(
                writing.connection, repo=repo.id, kind="schedule", subject=schedule.SUBJECT
            )
            if known is not None:
                asked = ScheduleAsked(workers=request.get("workers", 0), tasks=state.only)
                writing.emit(asked, repo=repo.id, subject=core_jobs.subject(known.id))
                return {"job": known.id, "joined": True, **preview}
            begun = self._jobs.begin(
                writing,
                "schedule",
                repo=repo.id,
                subject=schedule.SUBJECT,
                state=schedule.begun(state),
            )
            return {"job": begun.id, "joined": False, **preview}

        return IntentDraft(repo.id, None, prepare)

    def preview(self, caller: Caller, request: RunRequest) -> RunPreview:
        """Checks the same, says what it would take, and begins nothing."""
        return self._checked(caller, request)[2]

    def _checked(
        self, caller: Caller, request: RunRequest
    ) -> tuple[Repo, ScheduleState, RunPreview]:
        scope = lookup.scope(self._context, caller, request)
        repo = scope.repo or repos.add(self._context, request.get("cwd", ""))
        known = settings.usable(self._context.folders.home, repo.root)
        state = ScheduleState(
            workers=min(request.get("workers") or DEFAULT_WORKERS, _MOST_WORKERS),
            only=tuple(request.get("tasks", [])),
            pipeline=request.get("pipeline", ""),
            driver=request.get("driver", "") or known.config.driver,
            mode="live" if request.get("live") else known.config.run.sessions,
            plans=request.get("plans", False),
            enabled=tuple(request.get("enabled", [])),
            overrides=overrides.read(request.get("overrides", [])),
        )
        ready = preflight.require(self._context, repo, state, known.whole())
        state = msgspec.structs.replace(state, only=ready.only)
        takes = forecast.of_board(ready.board, state, known.config)
        preview: RunPreview = {
            "target": ready.gate.target.branch,
            "pays": ready.pays,
            "tasks": takes.tasks,
            "sessions": takes.sessions,
        }
        return repo, state, preview

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
            running = len(rounds.open_runs(writing.connection, repo.id))
            return {"job": known.id, "paused": request["paused"], "running": running}

        return IntentDraft(repo.id, None, prepare)


def _asked(work: RunningIntent) -> RunReply:
    return {name: work.data[name] for name in RunReply.__annotations__}  # type: ignore[return-value]


def _paused(work: RunningIntent) -> PauseRunReply:
    return {name: work.data[name] for name in ("job", "paused", "running")}  # type: ignore[return-value]
