"""The verbs that look into jobs."""

from __future__ import annotations

from windlass.api.verbs import Refusal, Verb, Wait
from windlass.api.wire import jobs as wire
from windlass.daemon.jobs.views import JobViews
from windlass.daemon.kernel.context import Context

_WORKS = Refusal("agents do not look into the works")


def routes(context: Context) -> dict[str, Verb | Wait]:
    """Returns what answers each verb, with its request, its reply and its callers."""
    views = JobViews(context)
    return {
        "jobs": Verb(wire.JobsRequest, wire.JobsReply, views.jobs, refusal=_WORKS, needs="store")
    }
