"""Jobs as faces see them."""

from __future__ import annotations

from functools import partial

import msgspec

from windlass.api.verbs import Caller
from windlass.api.wire.jobs import JobsReply, JobsRequest, JobView
from windlass.core.errors import NotFound
from windlass.core.jobs import Job
from windlass.daemon.kernel.context import Context
from windlass.store import jobs as rows

_HIDDEN = ("host", "lease_until")


class JobViews:
    """Answers who asks for jobs."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def jobs(self, _: Caller, request: JobsRequest) -> JobsReply:
        """Lists jobs of every repository: those that are not over, all, or one."""
        known = self._context.store.read(rows.listed)
        if (wanted := request.get("job")) is not None:
            found = [
                job
                for job in known
                if job.id.removeprefix("job-").startswith(wanted.removeprefix("job-"))
            ]
            if not found:
                raise NotFound(f"there is no job {wanted}", "`wl dev jobs --all` lists them")
            known = found
        elif not request.get("all", False):
            known = [job for job in known if job.status != "done"]
        return {"jobs": [self._view(job) for job in known]}

    def _view(self, job: Job) -> JobView:
        due = self._context.store.read(partial(rows.open_effects, job=job.id))
        fields = msgspec.to_builtins(job)
        kept = {name: value for name, value in fields.items() if name not in _HIDDEN}
        view: JobView = {**kept, "effects": [f"{effect.what} {effect.key}" for effect in due]}  # type: ignore[typeddict-item]
        return view
