"""The verbs of runs."""

from __future__ import annotations

from windlass.api.verbs import Refusal, Verb, Wait
from windlass.api.wire import runs as wire
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.requests import IntentVerb
from windlass.daemon.runs.schedules import Schedules
from windlass.daemon.runs.views import RunViews

_RUN = Refusal("agents do not have the board worked off", "ask the person: wl run")


def routes(context: Context, intents: Intents, schedules: Schedules) -> dict[str, Verb | Wait]:
    """Returns what answers each verb, with its request, its reply and its callers."""
    views = RunViews(context)
    return {
        "run": Verb(
            wire.RunRequest,
            wire.RunReply,
            IntentVerb(intents, "run", schedules.begin),
            refusal=_RUN,
        ),
        "runs": Verb(wire.RunsRequest, wire.RunsReply, views.runs, callers="both", needs="store"),
        "runs.wait": Wait(wire.RunsRequest, wire.RunsReply, views.wait, refusal=_RUN),
    }
