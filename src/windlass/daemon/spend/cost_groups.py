"""What was spent as faces show it: in the groups that somebody asked for, and as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict

import sqlalchemy as sa

from windlass.api.wire.spend import By, CostRow, OtherCosts
from windlass.core.ids import RepoId
from windlass.store import spending_groups
from windlass.store.spending_groups import OfAgent, OfGroup, Sum

ENDED_SHOWN = 50
"""Of so many ended agents, the dearest, it is told what each has spent, unless all are wanted."""
_NAMELESS: dict[By, str] = {
    "task": "(no task)",
    "step": "(no step)",
    "mode": "(not known)",
    "credential": "(not known)",
}
_SUMMED = Sum.__struct_fields__


class Summed(TypedDict):
    """What was spent: each group, agents that are not shown one by one, and all of it."""

    rows: list[CostRow]
    others: NotRequired[OtherCosts]
    total: CostRow


def summed(
    connection: sa.Connection,
    by: By,
    *,
    repo: RepoId | None,
    since: str | None,
    most: int | None,
) -> Summed:
    """The groups with what each came to, the dearest first; days in their order.

    Of ended agents no more than `most` are among them; the others are told of together.
    """
    if by != "agent":
        groups = spending_groups.grouped(connection, by, repo=repo, since=since)
        rows = _sorted(by, [_group(by, group) for group in groups])
        return {"rows": rows, "total": _row("total", _together(groups))}
    # Who is at work is shown even before it has spent anything.
    live = spending_groups.of_live(connection, repo=repo, since=since)
    ended, together = spending_groups.of_ended(connection, repo=repo, since=since, most=most)
    rows = _sorted(by, [_agent(agent) for agent in (*live, *ended)])
    found: Summed = {"rows": rows, "total": _row("total", _together([*live, together]))}
    if left := together.agents - len(ended):
        found["others"] = {**_row("others", _without(together, ended)), "agents": left}
    return found


def _sorted(by: By, rows: list[CostRow]) -> list[CostRow]:
    if by == "day":
        return sorted(rows, key=lambda row: row["name"])
    return sorted(rows, key=lambda row: (-row["usd"] - row["notional_usd"], row["name"]))


def _together(sums: Sequence[Sum]) -> Sum:
    return Sum(**{name: sum(getattr(each, name) for each in sums) for name in _SUMMED})


def _without(whole: Sum, parts: Sequence[Sum]) -> Sum:
    """What is left of the whole without these; sums of fractions may differ in their order."""
    less = _together(parts)
    return Sum(**{n: max(0, getattr(whole, n) - getattr(less, n)) for n in _SUMMED})


def _group(by: By, group: OfGroup) -> CostRow:
    row = _row(group.name or _NAMELESS.get(by, ""), group)
    return {**row, "repo": group.repo} if group.repo else row


def _agent(agent: OfAgent) -> CostRow:
    return {
        **_row(agent.id, agent),
        "uid": agent.uid,
        "repo": agent.repo,
        "role": agent.role,
        "ended": agent.has_ended,
    }


def _row(name: str, sums: Sum) -> CostRow:
    return {
        "name": name,
        "input_tokens": sums.input_tokens,
        "output_tokens": sums.output_tokens,
        "cache_creation_input_tokens": sums.cache_creation_input_tokens,
        "cache_read_input_tokens": sums.cache_read_input_tokens,
        "usd": round(sums.usd, 6),
        "notional_usd": round(sums.notional_usd, 6),
    }
