"""Who waits for whom: the tasks of a board as a graph, its cycles, and how many wait for each.

Built once for a set of dependencies; what of it depends on markers is counted anew in one pass.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_MOST_CYCLES = 20
"""How many are named of one knot, which may have more of them than anybody could read."""


class Knot(NamedTuple):
    """Tasks that wait for each other: cycles that their dependencies lie on."""

    cycles: list[list[str]]
    """Each from its first task on the board; each waits for the next, the last for the first."""
    more: int
    """How many of the dependencies lie on none of these."""


class Graph:
    """The tasks by number, in the order of the board, and whom each of them waits for."""

    def __init__(self, dependencies: Mapping[str, Sequence[str]]) -> None:
        """Takes each task's dependencies; those that are no tasks of the board are left out."""
        self.ids = list(dependencies)
        number = {name: index for index, name in enumerate(self.ids)}
        self.needs = [
            [number[name] for name in dict.fromkeys(names) if name in number]
            for names in dependencies.values()
        ]
        self.needed_by: list[list[int]] = [[] for _ in self.ids]
        for task, needs in enumerate(self.needs):
            for need in needs:
                self.needed_by[need].append(task)
        self._knots = _knots(self.needed_by)

    def dependents(self, counted: Sequence[bool]) -> list[int]:
        """How many tasks of those that count depend on each, directly or through any others.

        A knot of tasks that wait for each other is one place; nobody counts for itself.
        """
        place = [0] * len(self.ids)
        for index, knot in enumerate(self._knots):
            for task in knot:
                place[task] = index
        left = [0] * len(self._knots)
        for task, needs in enumerate(self.needs):
            for need in needs:
                left[place[task]] += place[task] != place[need]
        mask = sum(1 << task for task, counts in enumerate(counted) if counts)
        behind: dict[int, int] = {}
        found = [0] * len(self.ids)
        for index, knot in enumerate(self._knots):
            beyond = {place[task] for member in knot for task in self.needed_by[member]} - {index}
            own = sum(1 << member for member in knot)
            reached = own if len(knot) > 1 else 0
            for other in beyond:
                reached |= behind[other]
            waiting = reached & mask
            for member in knot:
                found[member] = waiting.bit_count() - (waiting >> member & 1)
            if left[index]:
                behind[index] = reached | own
            for member in knot:
                for task in self.needed_by[member]:
                    if place[task] != index:
                        left[place[task]] -= 1
                        if not left[place[task]]:
                            del behind[place[task]]
        return found

    def knots(self) -> list[Knot]:
        """The tasks that wait for each other, in the order of the first of each knot."""
        found = []
        for knot in sorted(self._knots, key=min):
            first = min(knot)
            if len(knot) > 1 or first in self.needs[first]:
                found.append(self._knot(first, set(knot)))
        return found

    def _knot(self, first: int, knot: set[int]) -> Knot:
        """Cycles until every dependency inside the knot lies on one, the shortest for each."""
        left = {(task, need) for task in knot for need in self.needs[task] if need in knot}
        cycles: list[list[int]] = []

        def take(cycle: list[int]) -> None:
            left.difference_update(zip(cycle, [*cycle[1:], cycle[0]], strict=True))
            cycles.append(cycle)

        take(self._round(first, self.needs[first], knot))
        for task in sorted(knot):
            for need in self.needs[task]:
                if (task, need) in left and len(cycles) < _MOST_CYCLES:
                    take(self._round(task, [need], knot))
        return Knot([self._named(cycle) for cycle in cycles], len(left))

    def _named(self, cycle: list[int]) -> list[str]:
        """A cycle's ids, from the first of them on the board."""
        at = cycle.index(min(cycle))
        return [self.ids[task] for task in (*cycle[at:], *cycle[:at])]

    def _round(self, start: int, through: Sequence[int], knot: set[int]) -> list[int]:
        """The shortest cycle from a task by one of these that it waits for."""
        came = {need: start for need in through if need in knot}
        queue = deque(came)
        while queue:
            task = queue.popleft()
            if task == start:
                path = [came[task]]
                while path[-1] != start:
                    path.append(came[path[-1]])
                return path[::-1]
            for need in self.needs[task]:
                if need in knot and need not in came:
                    came[need] = task
                    queue.append(need)
        raise ValueError("a knot without a cycle")


def _knots(edges: Sequence[Sequence[int]]) -> list[list[int]]:
    """Groups of nodes that reach each other, each after those that it leads to (Tarjan)."""
    order: list[int] = [-1] * len(edges)
    low = [0] * len(edges)
    on_stack = [False] * len(edges)
    stack: list[int] = []
    found: list[list[int]] = []
    count = 0
    for root in range(len(edges)):
        if order[root] >= 0:
            continue
        walk = [(root, iter(edges[root]))]
        order[root] = low[root] = count
        count += 1
        stack.append(root)
        on_stack[root] = True
        while walk:
            node, following = walk[-1]
            for after in following:
                if order[after] < 0:
                    order[after] = low[after] = count
                    count += 1
                    stack.append(after)
                    on_stack[after] = True
                    walk.append((after, iter(edges[after])))
                    break
                if on_stack[after]:
                    low[node] = min(low[node], order[after])
            else:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[node])
                if low[node] == order[node]:
                    cut = stack.index(node) if len(stack) < 3 else _from_end(stack, node)
                    knot = stack[cut:]
                    del stack[cut:]
                    for member in knot:
                        on_stack[member] = False
                    found.append(knot)
    return found


def _from_end(stack: Sequence[int], node: int) -> int:
    index = len(stack) - 1
    while stack[index] != node:
        index -= 1
    return index
