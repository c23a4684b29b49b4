"""Outcomes of checks and of whole gates. Only `passed` is green."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from windlass.core.ids import RepoId

Outcome = Literal["passed", "failed", "could-not-run", "ran-nothing"]
_WORST: tuple[Outcome, ...] = ("failed", "could-not-run", "ran-nothing", "passed")
EXIT_CODES: dict[Outcome, int] = {
    "passed": 0,
    "failed": 10,
    "ran-nothing": 11,
    "could-not-run": 13,
}


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """How one check ended for one tree, under exactly these circumstances.

    `tests` is None where nobody counted. `why` says what stands against it in one line.
    """

    repo: RepoId
    tree: str
    check: str
    check_key: str
    layer: str
    box: str
    versions: str
    outcome: Outcome
    code: int | None
    seconds: float
    tests: int | None = None
    skipped: int | None = None
    failed: tuple[str, ...] = ()
    why: str = ""
    log: str = ""
    host: str = ""
    at: float = 0.0
    id: int = 0


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """The outcome of several checks together; without any nothing ran."""
    present = set(outcomes)
    return next((outcome for outcome in _WORST if outcome in present), "ran-nothing")
