"""The verbs of runs."""

from __future__ import annotations

from windlass.api.verbs import Refusal, Verb, Wait
from windlass.api.wire import plans as plan_wire
from windlass.api.wire import runs as wire
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.requests import IntentVerb
from windlass.daemon.runs.plannings import Plannings
from windlass.daemon.runs.schedules import Schedules
from windlass.daemon.runs.tasks import Tasks
from windlass.daemon.runs.views import RunViews

_PLAN = Refusal("agents have no task planned", "ask the person: wl plan TASK --agent")
_RUN = Refusal("agents do not have the board worked off", "ask the person: wl run")


def routes(
    context: Context,
    intents: Intents,
    schedules: Schedules,
    tasks: Tasks,
    plannings: Plannings,
) -> dict[str, Verb | Wait]:
    """Returns what answers each verb, with its request, its reply and its callers."""
    views = RunViews(context)
    return {
        "task": Verb(wire.TaskRequest, wire.TaskReply, tasks.show, callers="both", needs="store"),
        "task.drop": Verb(
            wire.TaskRequest,
            wire.TaskReply,
            IntentVerb(intents, "task.drop", tasks.begin_drop),
            refusal=_RUN,
        ),
        "task.retry": Verb(
            wire.TaskRequest,
            wire.TaskReply,
            IntentVerb(intents, "task.retry", tasks.begin_retry),
            refusal=_RUN,
        ),
        "run.pause": Verb(
            wire.PauseRunRequest,
            wire.PauseRunReply,
            IntentVerb(intents, "run.pause", schedules.begin_pause),
            refusal=_RUN,
        ),
        "run": Verb(
            wire.RunRequest,
            wire.RunReply,
            IntentVerb(intents, "run", schedules.begin),
            refusal=_RUN,
        ),
        "plan": Verb(
            plan_wire.PlanRequest,
            plan_wire.PlanReply,
            IntentVerb(intents, "plan", plannings.begin),
            refusal=_PLAN,
        ),
        "plan.stop": Verb(
            plan_wire.PlanStopRequest,
            plan_wire.PlanStopReply,
            IntentVerb(intents, "plan.stop", plannings.begin_stop),
            refusal=_PLAN,
        ),
        "plan.wait": Wait(
            plan_wire.PlanWaitRequest, plan_wire.PlanView, plannings.wait, refusal=_PLAN
        ),
        "run.preview": Verb(wire.RunRequest, wire.RunPreview, schedules.preview, refusal=_RUN),
        "runs": Verb(wire.RunsRequest, wire.RunsReply, views.runs, callers="both", needs="store"),
        "runs.wait": Wait(wire.RunsRequest, wire.RunsReply, views.wait, refusal=_RUN),
    }
