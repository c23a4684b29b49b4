"""The verbs about what agents spend."""

from __future__ import annotations

from windlass.api.verbs import Verb, Wait
from windlass.api.wire import spend as wire
from windlass.daemon.spend.costs import Costs


def routes(costs: Costs) -> dict[str, Verb | Wait]:
    """What answers the verb of costs, and who may call it."""
    return {"costs": Verb(wire.CostsRequest, wire.CostsReply, costs.view, callers="both")}
