"""Runs as faces see them: what each does or came to, why it waits, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from windlass.api.wire.runs import TaskRunView, VerdictView, VisitView
from windlass.core.ids import Uid
from windlass.core.jobs import Job, JobId
from windlass.core.runs.run_state import RunState, Stage, Verdict, Visit
from windlass.core.shapes import convert
from windlass.daemon.runs import change_holds, run_costs, run_waits
from windlass.daemon.runs.run_costs import RunCost
from windlass.store import rows

_STATES = {
    "preparing": "is being prepared",
    "beginning": "begins",
    "working": "works",
    "looking": "works",
    "iterating": "works",
    "asking": "is asked for its result",
    "closing": "ends",
    "submitting": "is submitted",
    "landing": "waits to land",
    "finishing": "ends",
}
_OF_AGENT = frozenset[Stage]({"beginning", "working", "looking", "asking"})
"""Stages in which a run waits for its agent."""


class _Known(NamedTuple):
    """What is known of the agents of runs."""

    names: Mapping[Uid, str]
    costs: Mapping[Uid, RunCost]
    rests: Mapping[Uid, str]
    held: Mapping[JobId, str]
    """Why nothing comes of the changes of those at work."""
    meanwhile: Mapping[JobId, str]
    """Why they are held, also where that passes."""


def shown(connection: sa.Connection, runs: Sequence[Job], *, now: float) -> list[TaskRunView]:
    """These runs, in their order."""
    uids = [uid for job in runs if (uid := _uid_of(job)) is not None]
    at_work = [uid for job in runs if job.status == "open" and (uid := _uid_of(job)) is not None]
    known = _Known(
        rows.names(connection, uids),
        run_costs.of_agents(connection, uids),
        run_waits.of_agents(connection, at_work, now=now),
        {
            job.id: change_holds.why(connection, job.repo, convert(job.state, RunState))
            for job in runs
            if job.status == "open"
        },
        {
            job.id: change_holds.meanwhile(connection, job.repo, convert(job.state, RunState))
            for job in runs
            if job.status == "open"
        },
    )
    return [_task_run(job, known) for job in runs]


def _uid_of(job: Job) -> Uid | None:
    """The agent of a run, once it has one."""
    return Uid(job.state["uid"]) if job.state.get("uid") else None


def _task_run(job: Job, known: _Known) -> TaskRunView:
    state, over = convert(job.state, RunState), job.result or {}
    is_over = job.status != "open"
    rests = state.held or known.held.get(job.id, "")
    if not rests and state.stage in _OF_AGENT:
        rests = known.rests.get(Uid(state.uid), "")
    doing = "waits" if rests else _STATES[state.stage]
    cost = known.costs.get(Uid(state.uid), run_costs.NOTHING)
    told = rests or known.meanwhile.get(job.id, "")
    error = (job.error or {}).get("message", "")
    return {
        "task": state.task.id,
        "title": state.task.title,
        "run": job.id,
        "only_plans": state.only_plans,
        "state": str(over.get("outcome", "failed")) if is_over else doing,
        "is_over": is_over,
        "why": str(over.get("why", "") or error) if is_over else told,
        "agent": known.names.get(Uid(state.uid)),
        "step": state.label,
        "visit": state.visit if state.label else 0,
        "iteration": state.loop.iteration,
        "duty": state.loop.duty,
        "visits": [_visit(visit, cost) for visit in state.visits],
        "verdicts": [_verdict(verdict) for verdict in state.verdicts],
        "change": str(over.get("change", "") or state.change),
        "commit": str(over.get("commit", "")),
        "attempts": state.attempts,
        "usd": cost.whole.usd,
        "notional_usd": cost.whole.notional_usd,
        "began_at": job.created_at,
        "ended_at": job.updated_at if is_over else None,
    }


def _verdict(verdict: Verdict) -> VerdictView:
    return {
        "answer": verdict.answer,
        "why": verdict.why,
        "stopped": verdict.stopped,
        "at": verdict.at,
    }


def _visit(visit: Visit, cost: RunCost) -> VisitView:
    spent = cost.visits.get((visit.label, visit.number), run_costs.Cost())
    return {
        "step": visit.label,
        "visit": visit.number,
        "role": visit.role,
        "result": visit.result,
        "seconds": visit.seconds,
        "sessions": visit.sessions,
        "iterations": visit.iterations,
        "exhausted": visit.exhausted,
        "status": visit.status,
        "exit_code": visit.exit_code,
        "usd": spent.usd,
        "notional_usd": spent.notional_usd,
    }
