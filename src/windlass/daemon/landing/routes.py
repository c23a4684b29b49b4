"""The verbs of changes."""

from __future__ import annotations

from functools import partial

from windlass.api.verbs import Refusal, Verb, Wait
from windlass.api.wire import landing as wire
from windlass.api.wire.request import AnyRequest
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.requests import IntentVerb
from windlass.daemon.landing.candidates import candidates
from windlass.daemon.landing.differences import Differences
from windlass.daemon.landing.history import History
from windlass.daemon.landing.judgements import Judgements
from windlass.daemon.landing.submissions import Submissions
from windlass.daemon.landing.undos import LandingUndos
from windlass.daemon.landing.views import ChangeViews

_JUDGED = Refusal("agents do not judge changes", "ask the person")
_UNLISTED = Refusal("agents do not look through the person's branches", "wl merge names its own")


def routes(
    context: Context,
    intents: Intents,
    submissions: Submissions,
    judgements: Judgements,
    undos: LandingUndos,
) -> dict[str, Verb | Wait]:
    """Returns what answers each verb, with its request, its reply and its callers."""
    views, history = ChangeViews(context), History(context)

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
        "change.wait": Wait(wire.ChangeWaitRequest, wire.ChangeView, views.wait, callers="both"),
        "changes": Verb(
            wire.ChangesRequest, wire.ChangesReply, views.changes, callers="both", needs="store"
        ),
        "change.diff": Verb(
            wire.ChangeDiffRequest,
            wire.ChangeDiffReply,
            Differences(context).diff,
            callers="both",
        ),
        "candidates": Verb(
            AnyRequest, wire.CandidatesReply, partial(candidates, context), refusal=_UNLISTED
        ),
        "change.retry": judges("change.retry"),
        "commit": Verb(wire.CommitRequest, wire.CommitReply, history.commit, callers="both"),
        "landings": Verb(
            wire.LandingsRequest, wire.LandingsReply, history.landings, callers="both"
        ),
        "unfinished": Verb(AnyRequest, wire.UnfinishedReply, views.unfinished, callers="both"),
        "change.undo": Verb(
            wire.JudgeRequest,
            wire.ChangeView,
            IntentVerb(intents, "change.undo", undos.begin),
            refusal=_JUDGED,
        ),
        "approve": judges("approve"),
        "block": judges("block"),
        "drop": judges("drop"),
    }
