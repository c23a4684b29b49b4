"""Which task comes next: the effective priority of each, term by term, and the order that follows.

Fixed point, 10,000 is one; lower comes first:
`max(0, max(0, base - waits * 8000 // 7) + floor(sqrt(n) * 20000) - 15000 * plan - 7000 * d)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from math import isqrt

import msgspec

from windlass.core.board.board import Board
from windlass.core.board.graph import Graph
from windlass.core.board.tasks import PENDING, PRIORITIES, UNDER_WAY, UNFINISHED, Task

_AGING, _ROUNDS = 8_000, 7
_PLAN = 15_000
_DEPENDENT = 7_000
_SIBLING = 20_000


class Rank(msgspec.Struct, frozen=True, kw_only=True):
    """A task's place, and every term that it comes from."""

    id: str
    effective: int
    base: int
    """What its priority is worth."""
    plan: bool
    """Whether there is a plan for it, which takes off 15,000."""
    aging: int
    """What is taken off the base for the rounds that it has waited."""
    dependents: int
    """Unfinished tasks that wait for it, through whatever others; each takes off 7,000."""
    siblings: int
    """Other tasks of its prefix under way, whose square root adds 20,000 times itself."""
    ready: bool
    blocked_by: tuple[str, ...]
    """The dependencies that are not complete."""


def effective(*, base: int, waits: int, plan: bool, dependents: int, siblings: int) -> int:
    """The effective priority; lower comes first."""
    crowd = isqrt(siblings * _SIBLING * _SIBLING)
    return max(0, max(0, base - aging(waits)) + crowd - _PLAN * plan - _DEPENDENT * dependents)


def aging(waits: int) -> int:
    """What rounds of waiting take off."""
    return waits * _AGING // _ROUNDS


def ranks(
    board: Board,
    *,
    waits: Mapping[str, int] | None = None,
    plans: Collection[str] = (),
    graph: Graph | None = None,
) -> list[Rank]:
    """The rank of every task that says its priority, in the order of the board.

    Who asks again after a marker has changed may hand in the graph of the time before: it is made
    of dependencies alone.
    """
    waited = waits or {}
    open_ = [task.marker in UNFINISHED and task.id not in board.done for task in board.tasks]
    dependents = (graph or board.graph).dependents(open_)
    under_way = Counter(
        task.prefix
        for task in board.tasks
        if task.marker in UNDER_WAY and task.id not in board.done
    )
    found = []
    for task, waiting, unfinished in zip(board.tasks, dependents, open_, strict=True):
        if not task.priority:
            continue
        itself = unfinished and task.marker in UNDER_WAY
        siblings = under_way[task.prefix] - itself
        base, plan = PRIORITIES[task.priority], task.id in plans
        rounds = waited.get(task.id, 0)
        blocked_by = tuple(name for name in task.dependencies if not _complete(board, name))
        found.append(
            Rank(
                id=task.id,
                effective=effective(
                    base=base, waits=rounds, plan=plan, dependents=waiting, siblings=siblings
                ),
                base=base,
                plan=plan,
                aging=aging(rounds),
                dependents=waiting,
                siblings=siblings,
                ready=_pending(board, task) and not blocked_by,
                blocked_by=blocked_by,
            )
        )
    return found


def following(board: Board, ranked: list[Rank]) -> list[Rank]:
    """The tasks that wait for their turn: the ready ones in their order, then the others in theirs.

    Ties go by the order of the board. What has a problem of its own waits for nobody's turn.
    """
    waiting = [rank for rank in ranked if _pending(board, board.by_id[rank.id])]
    return sorted(waiting, key=lambda rank: (not rank.ready, rank.effective))


def _pending(board: Board, task: Task) -> bool:
    return task.sound and task.marker == PENDING and task.id not in board.done


def _complete(board: Board, name: str) -> bool:
    needed = board.by_id.get(name)
    return name in board.done or (needed is not None and board.finished(needed))
