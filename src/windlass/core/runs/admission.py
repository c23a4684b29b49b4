"""Which tasks of a board are begun now: the first ready ones, as many as there are workers free."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from windlass.core.board import priority
from windlass.core.board.board import Board

MOST_UNLANDED = 2
"""Tasks that wait to land, for each worker, until no more are begun."""


class Admission(NamedTuple):
    """What a round decides."""

    start: tuple[str, ...]
    waiting: tuple[str, ...]
    """Ready tasks for which no worker is free, in their order."""
    waits: dict[str, int]
    """Rounds that each ready task has waited by now."""
    blocked: tuple[str, ...] = ()
    """Pending tasks that wait for others."""


def choose(
    board: Board,
    *,
    plans: Collection[str],
    waits: Mapping[str, int],
    running: Collection[str],
    settled: Collection[str] = (),
    at_work: int,
    workers: int,
    only: Collection[str] = (),
) -> Admission:
    """Chooses by effective priority; who is ready and not chosen has waited one round more.

    Nobody is chosen that is `settled`. Of those that are running so many are `at_work`; the others
    wait to land. A crew that writes faster than it lands begins no more.
    """
    ranked = priority.ranks(board, waits=dict(waits), plans=frozenset(plans))
    taken = {name.upper() for name in (*running, *settled)}
    ready: list[str] = []
    blocked: list[str] = []
    for rank in priority.following(board, ranked):
        if rank.id.upper() in taken or (only and rank.id not in only):
            continue
        (ready if rank.ready else blocked).append(rank.id)
    free = max(0, workers - at_work)
    if len(running) - at_work >= MOST_UNLANDED * workers:
        free = 0
    waiting = tuple(ready[free:])
    return Admission(
        start=tuple(ready[:free]),
        waiting=waiting,
        waits={name: waits.get(name, 0) + 1 for name in waiting},
        blocked=tuple(blocked),
    )
