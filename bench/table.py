"""The table that benchmarks print: a line for each thing that was measured, and its budget."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple


class Row(NamedTuple):
    """One line: what each run took, and how much the median may be."""

    what: str
    times: list[float]
    budget: float | None
    note: str = ""
    unit: str = "ms"

    @property
    def median(self) -> float:
        """The middle one of the runs."""
        return statistics.median(self.times)

    @property
    def verdict(self) -> str:
        """Whether the budget holds."""
        if self.budget is None:
            return ""
        return "ok" if self.median <= self.budget else "OVER"

    def as_data(self) -> dict[str, Any]:
        """The line for programs."""
        return {
            "what": self.what,
            "median": self.median,
            "least": min(self.times),
            "worst": max(self.times),
            "unit": self.unit,
            "budget": self.budget,
            "note": self.note,
        }


def timed(work: Callable[[], Any], *, runs: int) -> list[float]:
    """Milliseconds of each run."""
    found = []
    for _ in range(runs):
        began = time.perf_counter()
        work()
        found.append((time.perf_counter() - began) * 1000)
    return found


def show(rows: list[Row]) -> None:
    """Prints the table."""
    print(
        f"{'what':<40}{'median':>10}{'least':>10}{'worst':>10}  {'unit':<8}{'budget':>8}  verdict"
    )
    for row in rows:
        budget = "" if row.budget is None else f"{row.budget:g}"
        print(
            f"{row.what:<40}{row.median:>10.1f}{min(row.times):>10.1f}{max(row.times):>10.1f}"
            f"  {row.unit:<8}{budget:>8}  {row.verdict:<5} {row.note}".rstrip()
        )
