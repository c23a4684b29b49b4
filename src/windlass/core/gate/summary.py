"""How a run ended, in a line: `main is green: 214 tests in 31 s`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from windlass.core.gate.verdicts import Outcome
from windlass.core.printable import printable_line

_WHOLE_FROM = 10.0


def end(what: str, outcome: Outcome, checks: Iterable[Mapping[str, Any]]) -> str:
    """How something fares whose run is over, by its checks as they are told."""
    checks = list(checks)
    if outcome == "passed":
        return f"{what} is green: {counts(checks)}"
    fares = "red" if outcome == "failed" else f"not proven ({outcome})"
    first = next((check for check in checks if check["outcome"] == outcome), None)
    if first is None:
        return f"{what} is {fares}; `wl gate` shows it"
    failed = [*first["failed"][:1], f"and {len(first['failed']) - 1} more"][: len(first["failed"])]
    why = " ".join(failed) or first["why"]
    said = f"{first['name']}: {why}" if why else first["name"]
    return f"{what} is {fares}: {printable_line(said)}; `wl gate` shows it"


def counts(checks: Iterable[Mapping[str, Any]]) -> str:
    """What was tested, in how long: `214 tests in 31 s`."""
    checks = list(checks)
    tests = sum(check["tests"] or 0 for check in checks)
    seconds = sum(check["seconds"] or 0.0 for check in checks)
    took = f"{seconds:.0f} s" if seconds >= _WHOLE_FROM else f"{seconds:.1f} s"
    number, thing = (tests, "test") if tests else (len(checks), "check")
    return f"{number} {thing}{'' if number == 1 else 's'} in {took}"
