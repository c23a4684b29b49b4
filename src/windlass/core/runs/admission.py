"""Which tasks of a board are begun now: the first ready ones, as many as there are workers free."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from windlass.core.board import priority
from windlass.core.board.board import Board

MOST_UNLANDED = 2
"""Tasks that wait to land, for each worker, until no more are begun."""
Collides = Callable[[str, Sequence[str]], str]
"""Why a task is not begun beside others; nothing where it may."""


class Admission(NamedTuple):
    """What a round decides."""

    start: tuple[str, ...]
    waiting: tuple[str, ...]
    """Ready tasks that are not begun, in their order."""
    waits: dict[str, int]
    """Rounds that each ready task has waited by now."""
    blocked: tuple[str, ...] = ()
    """Pending tasks that wait for others."""
    postponed: Mapping[str, str] = MappingProxyType({})
    """Why each ready task is put off for which a worker was free."""
    held: str = ""
    """Why none is begun at all."""


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
    held: str = "",
    collides: Collides = lambda _, __: "",
) -> Admission:
    """Chooses by effective priority; who is ready and not chosen has waited one round more.

    Nobody is chosen that is `settled`, and nobody at all while something is `held`. Of those that
    are running so many are `at_work`; the others wait to land. A crew that writes faster than it
    lands begins no more. Who collides with others takes nobody's place.
    """
    ranked = priority.ranks(board, waits=dict(waits), plans=frozenset(plans))
    taken = {name.upper() for name in (*running, *settled)}
    ready: list[str] = []
    blocked: list[str] = []
    for rank in priority.following(board, ranked):
        if rank.id.upper() in taken or (only and rank.id not in only):
            continue
        (ready if rank.ready else blocked).append(rank.id)
    unlanded = len(running) - at_work
    if not held and ready and unlanded >= MOST_UNLANDED * workers:
        held = f"{unlanded} tasks wait to land"
    start: list[str] = []
    postponed: dict[str, str] = {}
    for name in () if held else ready:
        if len(start) >= max(0, workers - at_work):
            break
        if why := collides(name, start):
            postponed[name] = why
        else:
            start.append(name)
    waiting = tuple(name for name in ready if name not in start)
    return Admission(
        start=tuple(start),
        waiting=waiting,
        waits={name: waits.get(name, 0) + 1 for name in waiting},
        blocked=tuple(blocked),
        postponed=postponed,
        held=held if ready else "",
    )
