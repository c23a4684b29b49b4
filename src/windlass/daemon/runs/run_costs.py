"""What runs have cost: all of each, and what each visit of a step came to."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec
import sqlalchemy as sa

from windlass.core.ids import Uid
from windlass.store import rows, spending


class Cost(msgspec.Struct, frozen=True):
    """USD: what is owed, and what a subscription covers."""

    usd: float = 0.0
    notional_usd: float = 0.0

    def __add__(self, more: Cost) -> Cost:
        """Both together."""
        return Cost(round(self.usd + more.usd, 6), round(self.notional_usd + more.notional_usd, 6))


class RunCost(msgspec.Struct, frozen=True):
    """What the agent of a run has cost, and each visit by its step and number."""

    whole: Cost = Cost()
    visits: Mapping[tuple[str, int], Cost] = {}


NOTHING = RunCost()


def of_agents(connection: sa.Connection, agents: Collection[Uid]) -> dict[Uid, RunCost]:
    """What the agents of runs have cost; those that have cost nothing are not among them."""
    found: dict[Uid, RunCost] = {}
    spent = spending.by_session(connection, agents) if agents else []
    parts = rows.parts(connection, {each.agent for each in spent})
    for each in spent:
        cost, known = Cost(each.usd, each.notional_usd), found.get(each.agent, NOTHING)
        part = parts.get((each.agent, each.session))
        visits = dict(known.visits)
        if part is not None:
            visit = (part.label, part.visit)
            visits[visit] = visits.get(visit, Cost()) + cost
        found[each.agent] = RunCost(known.whole + cost, visits)
    return found
