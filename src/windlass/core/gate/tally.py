"""How many tests a run executed and which failed, whoever said so.

Pure. Names come from output that anybody may have written: each is made one printable line, short,
and there are not many of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import msgspec

from windlass.core.printable import printable_line

MOST_NAMES = 50
LONGEST_NAME = 300
_LARGEST = 999_999_999
"""No project has more tests; a number of a thousand digits is no count."""


class TestReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a test run said. It is green only if something ran and nothing failed.

    Something that could not even be loaded (a file with a syntax error, a crate whose tests ended
    the process) counts among the failures, but not among what ran.
    """

    __test__: ClassVar[bool] = False
    """Tells pytest that this is no class of tests."""

    runner: str
    """`pytest`, `jest`, ...; several are joined: `jest+pytest`."""
    ran: int
    """Tests that were executed, passed or failed; not those that were skipped."""
    skipped: int = 0
    failed: tuple[str, ...] = ()
    """The first failures' names, as a developer would recognise them. May be fewer than failed."""
    failed_count: int = 0


def report(
    runner: str, *, ran: int, skipped: int = 0, failed: Iterable[str] = (), failed_count: int = 0
) -> TestReport:
    """A report whose counts and names are within bounds; names that come twice stay once."""
    return TestReport(
        runner=runner,
        ran=_bounded(ran),
        skipped=_bounded(skipped),
        failed=_names(failed) if failed_count > 0 else (),
        failed_count=_bounded(failed_count),
    )


def unfinished(runner: str, what: str = "") -> TestReport:
    """A run that began and never said how it ended: a failure, though no test is to blame."""
    name = f"{what} ({runner} did not finish)" if what else f"{runner} did not finish"
    return report(runner, ran=0, failed=(name,), failed_count=1)


def merged(reports: Iterable[TestReport]) -> TestReport | None:
    """All of several runs added up; nothing if there are none."""
    runs = list(reports)
    if not runs:
        return None
    return report(
        "+".join(sorted({name for run in runs for name in run.runner.split("+")})),
        ran=sum(run.ran for run in runs),
        skipped=sum(run.skipped for run in runs),
        failed=(name for run in runs for name in run.failed),
        failed_count=sum(run.failed_count for run in runs),
    )


def _bounded(count: int) -> int:
    return min(max(count, 0), _LARGEST)


def _names(names: Iterable[str]) -> tuple[str, ...]:
    kept: dict[str, None] = {}
    for name in names:
        line = printable_line(name.strip())[:LONGEST_NAME]
        if line:
            kept[line] = None
        if len(kept) == MOST_NAMES:
            break
    return tuple(kept)
