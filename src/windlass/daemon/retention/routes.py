"""The verb for what is older than it is kept."""

from __future__ import annotations

from windlass.api.verbs import Refusal, Verb, Wait
from windlass.api.wire.retention import GcReply, GcRequest
from windlass.daemon.retention.retention import Retention


def routes(retention: Retention) -> dict[str, Verb | Wait]:
    """Returns what answers it, with its request, its reply and its callers."""
    return {
        "gc": Verb(
            GcRequest,
            GcReply,
            retention.gc,
            refusal=Refusal("agents do not decide for how long things are kept"),
        ),
    }
