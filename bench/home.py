"""What it costs that a boxed agent's commit comes home: from the look at its clone to the mirror.

The daemon's own services, with real git and real boxes, and no session.
"""

from __future__ import annotations

from pathlib import Path

from bench.table import Row, timed
from tests.support.contexts import Turned, lent
from tests.support.workshop import Workshop, git

RUNS = 30
BUDGET = 100.0


def measure(*, runs: int = RUNS) -> list[Row]:
    """One small commit at a time, and one of many files."""
    with lent(Turned(), {}) as context:
        workshop = Workshop(context)
        try:
            made = workshop.ask("spawn", goal="g", name="fox", driver="standin", isolation="box")
            fox = workshop.agent(made["uid"])
            clone = Path(fox.workspace)
            _commit(clone, "first", files=1)
            workshop.services.fetcher.fetch(fox)
            small: list[float] = []
            for number in range(runs):
                _commit(clone, f"small {number}", files=1)
                small += timed(lambda: workshop.services.fetcher.fetch(fox), runs=1)
            _commit(clone, "large", files=2000)
            large = timed(lambda: workshop.services.fetcher.fetch(fox), runs=1)
        finally:
            workshop.close()
    return [
        Row("a commit of a boxed agent comes home", small, BUDGET),
        Row("... one of 2,000 new files", large, None),
    ]


def _commit(clone: Path, what: str, *, files: int) -> None:
    for number in range(files):
        (clone / f"{what.replace(' ', '-')}-{number}").write_text(f"{what} {number}\n")
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", what)
