"""The verb for what lives and the store does not know."""

from __future__ import annotations

from windlass.api.verbs import Refusal, Verb, Wait
from windlass.api.wire.repair import OrphanView, RepairRequest
from windlass.daemon.repair.repairs import Repairs


def routes(repairs: Repairs) -> dict[str, Verb | Wait]:
    """Returns what answers it, with its request, its reply and its callers."""
    return {
        "repair": Verb(
            RepairRequest,
            list[OrphanView],
            repairs.repair,
            refusal=Refusal("agents do not decide what becomes of orphans"),
        ),
    }
