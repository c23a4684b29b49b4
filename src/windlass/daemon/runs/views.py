"""Runs as faces see them, and the wait for the next thing that happens in one."""

from __future__ import annotations

from functools import partial
from typing import Any

import sqlalchemy as sa

from windlass.api.verbs import Caller
from windlass.api.wire.runs import RunsReply, RunsRequest
from windlass.core.events import (
    BoardHeld,
    ChangeStopped,
    RunBegun,
    RunEnded,
    RunSubmitted,
    RunWaits,
    StepBegun,
    StepEnded,
    StepIterated,
    TaskEdited,
    TaskPostponed,
    TaskUnmarked,
)
from windlass.core.ids import RepoId
from windlass.core.jobs import Job
from windlass.core.landing.changes import ChangeId
from windlass.core.runs import run, schedule
from windlass.core.runs.run_state import RunState
from windlass.core.runs.schedule import ScheduleState
from windlass.core.shapes import convert
from windlass.daemon.kernel import lookup
from windlass.daemon.kernel.context import Context
from windlass.daemon.runs import progress, task_runs
from windlass.store import changes as change_rows
from windlass.store import jobs as rows
from windlass.store import rows as agent_rows

_TOLD = (
    *(RunBegun, StepBegun, RunWaits, StepIterated, StepEnded),
    *(RunSubmitted, ChangeStopped, RunEnded),
    *(TaskEdited, TaskPostponed, BoardHeld, TaskUnmarked),
)
_KINDS = frozenset(kind.kind for kind in _TOLD)


class RunViews:
    """Answers who asks for runs."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def runs(self, caller: Caller, request: RunsRequest) -> RunsReply:
        """Shows the schedule of a board, and the newest run of each task."""
        scope = lookup.scope(self._context, caller, request)
        repo, after = scope.repo, request.get("after")
        if repo is None:
            return _nothing(self._context.store.read(agent_rows.newest_event), [])
        now = self._context.clock.now()
        return self._context.store.read(partial(_shown, repo=repo.id, after=after, now=now))

    async def wait(self, caller: Caller, request: RunsRequest) -> RunsReply:
        """Tells as soon as something happened that the caller does not know, or it is over."""
        return await progress.of(self._context, self.runs, caller, request, kinds=_KINDS)


def _nothing(at: int, told: list[dict[str, Any]]) -> RunsReply:
    return {
        "job": None,
        "is_over": True,
        "workers": 0,
        "paused": False,
        "problem": "",
        "held": "",
        "postponed": {},
        "blocked": [],
        "failed": [],
        "left": 0,
        "tasks": [],
        "at": at,
        "events": told,
    }


def _shown(connection: sa.Connection, *, repo: RepoId, after: int | None, now: float) -> RunsReply:
    job = rows.last_about(connection, repo=repo, kind=schedule.KIND.name, subject=schedule.SUBJECT)
    newest = agent_rows.newest_event(connection)
    told = _events(connection, repo, after) if after is not None else []
    if job is None:
        return _nothing(newest, told)
    state = convert(job.state, ScheduleState)
    found: dict[str, Job] = {}
    for each in rows.listed(connection, repo=repo):
        is_meant = each.status == "open" or each.updated_at >= job.created_at
        is_run = each.kind == run.KIND.name
        if is_run and is_meant and not convert(each.state, RunState).only_plans:
            found[each.subject] = each
    return {
        "job": job.id,
        "is_over": job.status != "open",
        "workers": state.workers,
        "paused": state.paused,
        "problem": state.problem,
        "held": state.held if job.status == "open" else "",
        "postponed": postponed(job),
        "blocked": list((job.result or {}).get("blocked", [])),
        "failed": list((job.result or {}).get("failed", [])),
        "left": state.left,
        "tasks": task_runs.shown(connection, list(found.values()), now=now),
        "at": newest,
        "events": told,
    }


def _events(connection: sa.Connection, repo: RepoId, after: int) -> list[dict[str, Any]]:
    """What happened to tasks; a change that came back has the task that it is of."""
    told = []
    for event in agent_rows.events(connection, after=after, repo=repo):
        if event.kind not in _KINDS:
            continue
        data = dict(event.data)
        if event.kind == ChangeStopped.kind:
            change = change_rows.find(connection, repo=repo, change=ChangeId(data["change"]))
            if change is None or not change.task:
                continue
            data["task"] = change.task
        told.append({"kind": event.kind, "at": event.at, **data})
    return told


def postponed(schedule: Job) -> dict[str, str]:
    """Why each task waits that could begin otherwise."""
    if schedule.status != "open":
        return {}
    state = convert(schedule.state, ScheduleState)
    return {name: each.why for name, each in state.postponed.items() if each.why}
