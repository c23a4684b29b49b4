"""The verbs of changes."""

from __future__ import annotations

from functools import partial

from windlass.api.verbs import Refusal, Verb, Wait
from windlass.api.wire import landing as wire
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.requests import IntentVerb
from windlass.daemon.landing.judgements import Judgements
from windlass.daemon.landing.submissions import Submissions
from windlass.daemon.landing.views import ChangeViews

_JUDGED = Refusal("agents do not judge changes", "ask the person")


def routes(
    context: Context, intents: Intents, submissions: Submissions, judgements: Judgements
) -> dict[str, Verb | Wait]:
    """Returns what answers each verb, with its request, its reply and its callers."""
    views = ChangeViews(context)

    def judges(kind: str) -> Verb:
        begin = partial(judgements.begin, kind)
        return Verb(
            wire.JudgeRequest, wire.ChangeView, IntentVerb(intents, kind, begin), refusal=_JUDGED
        )

    return {
        "submit": Verb(
            wire.SubmitRequest,
            wire.ChangeView,
            IntentVerb(intents, "submit", submissions.begin),
            callers="both",
        ),
        "change": Verb(
            wire.ChangeRequest, wire.ChangeView, views.show, callers="both", needs="store"
        ),
        "change.wait": Wait(wire.ChangeRequest, wire.ChangeView, views.wait, callers="both"),
        "changes": Verb(
            wire.ChangesRequest, wire.ChangesReply, views.changes, callers="both", needs="store"
        ),
        "approve": judges("approve"),
        "block": judges("block"),
        "drop": judges("drop"),
    }
