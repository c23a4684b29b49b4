"""What the gate found of a tree that a change does not land with."""

from __future__ import annotations

import sqlalchemy as sa

from windlass.core import shapes
from windlass.core.gate import verdicts as outcomes
from windlass.core.gate.job import GateState
from windlass.core.gate.verdicts import Verdict
from windlass.core.ids import RepoId
from windlass.core.jobs import Job, JobId
from windlass.core.landing.queue import Try
from windlass.daemon.landing.tickets import Finding
from windlass.store import jobs as job_rows
from windlass.store import verdicts


def of_try(connection: sa.Connection, *, repo: RepoId, tried: Try | None) -> Finding | None:
    """How the worst check of its run ended; None where nothing was tried, or all is well."""
    if tried is None:
        return None
    job = job_rows.find(connection, JobId(tried.job)) if tried.job else None
    if job is not None and (found := _of_run(connection, job)) is not None:
        return found
    known = verdicts.newest_not_green(connection, repo, tried.tree)
    return None if known is None else _of_verdict(known)


def _of_run(connection: sa.Connection, job: Job) -> Finding | None:
    """What ended with no verdict has it of its setup, whose log it then is."""
    if job.result is None:
        message = (job.error or {}).get("message", "")
        return Finding("", "could-not-run", message) if job.status != "open" else None
    state = shapes.convert(job.state, GateState)
    worst = outcomes.worst(end.outcome for end in state.ends)
    end = next((end for end in state.ends if end.outcome == worst), None)
    if end is None or worst == "passed":
        return None
    known = None
    if end.verdict is not None:
        known = verdicts.by_number(connection, end.verdict)
    if known is not None:
        return _of_verdict(known)
    return Finding(end.name, end.outcome, end.why, log=(state.layer or {}).get("log", ""))


def _of_verdict(verdict: Verdict) -> Finding:
    return Finding(verdict.check, verdict.outcome, verdict.why, verdict.failed, verdict.log)
