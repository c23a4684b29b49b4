"""The verbs of changes."""

from __future__ import annotations

from windlass.api.verbs import Refusal, Verb, Wait
from windlass.api.wire import landing as wire
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.requests import IntentVerb
from windlass.daemon.landing.submissions import Submissions
from windlass.daemon.landing.views import ChangeViews

_LANDS = Refusal(
    "agents do not land branches", "say that you have completed: whoever started you lands"
)


def routes(context: Context, intents: Intents, submissions: Submissions) -> dict[str, Verb | Wait]:
    """Returns what answers each verb, with its request, its reply and its callers."""
    views = ChangeViews(context)
    return {
        "submit": Verb(
            wire.SubmitRequest,
            wire.ChangeView,
            IntentVerb(intents, "submit", submissions.begin),
            refusal=_LANDS,
        ),
        "change": Verb(
            wire.ChangeRequest, wire.ChangeView, views.show, refusal=_LANDS, needs="store"
        ),
        "change.wait": Wait(wire.ChangeRequest, wire.ChangeView, views.wait, refusal=_LANDS),
        "changes": Verb(
            wire.ChangesRequest, wire.ChangesReply, views.changes, refusal=_LANDS, needs="store"
        ),
    }
