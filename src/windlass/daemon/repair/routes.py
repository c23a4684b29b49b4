"""The verbs for what lives and the store does not know."""

from __future__ import annotations

from windlass.api.verbs import Refusal, Verb, Wait
from windlass.api.wire.repair import ForeignWorkRequest, KeptWork, OrphanView, RepairRequest
from windlass.daemon.kernel.context import Context
from windlass.daemon.repair.foreign_work import ForeignWork
from windlass.daemon.repair.repairs import Repairs


def routes(context: Context, repairs: Repairs) -> dict[str, Verb | Wait]:
    """Returns what answers each, with its request, its reply and its callers."""
    return {
        "repair": Verb(
            RepairRequest,
            list[OrphanView],
            repairs.repair,
            refusal=Refusal("agents do not decide what becomes of orphans"),
        ),
        "foreign-work": Verb(
            ForeignWorkRequest,
            list[KeptWork],
            ForeignWork(context).keep,
            refusal=Refusal("agents do not keep what other tools left"),
        ),
    }
