"""A line of the table whose budget is what plain git takes, some times over and a little more."""

from __future__ import annotations

import statistics

from bench.table import Row


def beside(
    what: str, ours: list[float], plain: list[float], *, times: float, more: float, by: str
) -> Row:
    """The line for something that somebody else does too: how often as long it may take."""
    floor = statistics.median(plain)
    ratio = statistics.median(ours) / floor
    return Row(what, ours, times * floor + more, f"{by} {floor:.0f} ms; {ratio:.1f} times that")
