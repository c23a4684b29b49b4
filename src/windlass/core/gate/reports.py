"""What a test run said about itself: read from its output, or from the JUnit files it wrote.

Pure. Both are written by code under test and may be anything: reading is linear in the length of
the text, and `read_output` is total. Nothing here decides: counts and names are evidence beside the
exit code, because whoever can print can also lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from windlass.core.gate import (
    compiled_runs,
    javascript_runs,
    python_runs,
    script_runs,
    tap_runs,
)
from windlass.core.gate.junit import NotJUnit, read_junit
from windlass.core.gate.printed_lines import CUT_LINE, streams
from windlass.core.gate.tally import TestReport, merged, report

__all__ = [
    "CUT_LINE",
    "NotJUnit",
    "TestReport",
    "merged",
    "read_junit",
    "read_output",
    "reconciled",
]

_READERS: tuple[Callable[[Sequence[str]], Iterable[TestReport]], ...] = (
    python_runs.pytest_runs,
    python_runs.unittest_runs,
    javascript_runs.jest_runs,
    javascript_runs.vitest_runs,
    javascript_runs.mocha_runs,
    javascript_runs.ava_runs,
    javascript_runs.bun_runs,
    javascript_runs.deno_runs,
    tap_runs.node_and_tap_runs,
    compiled_runs.cargo_runs,
    compiled_runs.nextest_runs,
    compiled_runs.go_runs,
    compiled_runs.maven_runs,
    compiled_runs.gradle_runs,
    compiled_runs.ctest_runs,
    compiled_runs.dotnet_runs,
    script_runs.rspec_runs,
    script_runs.minitest_runs,
    script_runs.phpunit_runs,
    script_runs.bats_runs,
)


def read_output(tail: str) -> TestReport | None:
    """All runs of known runners in an output, added up; None if there is none.

    A runner that found no test has run nothing: 0. One that began, and whose closing lines are
    missing, is a failure. Where the middle of an output was left out, its place must be marked by
    `CUT_LINE`, because runs may have ended there.
    """
    return merged(run for lines in streams(tail) for reader in _READERS for run in reader(lines))


def reconciled(junit: TestReport | None, printed: TestReport | None) -> TestReport | None:
    """What the files count, but no failure that the output tells is lost.

    A run that a conftest.py ended early leaves a whole file of passed tests; only its output says
    that it was stopped.
    """
    if junit is None or printed is None:
        return junit or printed
    return report(
        printed.runner,
        ran=junit.ran,
        skipped=junit.skipped,
        failed=(*junit.failed, *(() if junit.failed else printed.failed)),
        failed_count=max(junit.failed_count, printed.failed_count),
    )
