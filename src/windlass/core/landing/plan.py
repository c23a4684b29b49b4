"""The plan of a queue: what is tried next, what lands, what goes back. A pure function.

On one tip of the target, groups of waiting changes are tried: each is a tree, and its outcome is
known, on its way, or not asked for. Everything that waits is tried as one; a red group is halved
until one change is left. Three rules hold whatever the outcomes are:

* what lands is a group whose own tree is green;
* a change is sent back only where it is red by itself and the tip without it is green; where the
  gate could not run, or marked what it makes of the tests, it is held for a person instead;
* a red tip sends nobody back: it halts the queue, and only a change that makes it green lands.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

Name = str
Group = tuple[Name, ...]
"""Changes in the order of the queue; none at all is the tip itself."""
Outcome = Literal["passed", "failed", "could-not-run", "ran-nothing", "marked"]
"""How a group fared; `marked` is green, and for a person to look at first."""
TIP: Group = ()
_FOR_A_PERSON: frozenset[Outcome] = frozenset({"could-not-run", "marked"})


class Plan(NamedTuple):
    """What follows from a queue and what is known of it."""

    start: tuple[Group, ...] = ()
    cancel: tuple[Group, ...] = ()
    land: Group = ()
    reject: Group = ()
    hold: Group = ()
    """Changes that nothing is known against, and that cannot go on without a person."""


def plan(
    queue: Sequence[Name], known: Mapping[Group, Outcome], running: Collection[Group], slots: int
) -> Plan:
    """Says what is to be done now, on one tip.

    `known` are outcomes of groups on that tip, and `running` the groups whose outcome is on its
    way. Asked again after each news with what has changed since, it comes to an end: every change
    lands, is sent back or is held.
    """
    waiting = tuple(queue)
    stale = tuple(sorted(group for group in running if not set(group) <= set(waiting)))
    if not waiting:
        return Plan(cancel=tuple(sorted(running)))
    if green := _largest_green(waiting, known):
        return Plan(land=green, cancel=tuple(sorted(group for group in running if group != TIP)))
    on_the_way = [group for group in running if group not in stale]
    if known.get(TIP, "passed") != "passed":
        return _on_a_red_tip(waiting, known, on_the_way, slots)._replace(cancel=stale)
    red = tuple(name for name in waiting if _is_red((name,), known))
    if red and known.get(TIP) == "passed":
        undecided = tuple(name for name in red if known[(name,)] in _FOR_A_PERSON)
        refused = tuple(name for name in red if name not in undecided)
        return Plan(reject=refused, hold=undecided, cancel=stale)
    wanted = TIP if red else _next_group(waiting, known)
    if wanted in on_the_way or len(on_the_way) >= slots:
        return Plan(cancel=stale)
    return Plan(start=(wanted,), cancel=stale)


def _largest_green(waiting: Group, known: Mapping[Group, Outcome]) -> Group:
    """The most changes that can land together now; none where no group of them is green."""
    present = set(waiting)
    green = [g for g, outcome in known.items() if g and outcome == "passed" and set(g) <= present]
    first = {name: -place for place, name in enumerate(waiting)}
    return max(green, key=lambda g: (len(g), [first[name] for name in g]), default=())


def _next_group(waiting: Group, known: Mapping[Group, Outcome]) -> Group:
    """All that wait, or the first half of what is red so far: whose outcome nobody knows yet.

    A half that is green lands, and what is left is tried on top of it; so the second half of a red
    group needs no try of its own.
    """
    group = waiting
    while len(group) > 1 and _is_red(group, known):
        group = group[: (len(group) + 1) // 2]
    return group


def _is_red(group: Group, known: Mapping[Group, Outcome]) -> bool:
    return group in known and known[group] != "passed"


def _on_a_red_tip(
    waiting: Group, known: Mapping[Group, Outcome], running: Sequence[Group], slots: int
) -> Plan:
    """Tries each change by itself: one of them may be what makes the tip green again."""
    untried = [(name,) for name in waiting if (name,) not in known and (name,) not in running]
    if untried or running:
        return Plan(start=tuple(untried[: max(0, slots - len(running))]))
    return Plan(hold=waiting)
