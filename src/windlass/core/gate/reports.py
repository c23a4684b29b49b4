"""What a test run said, read from the end of its output."""

from __future__ import annotations

from windlass.core.gate import printed_lines, python_runs, tally
from windlass.core.gate.tally import TestReport


def read_output(tail: str) -> TestReport | None:
    """The tests that ran by the closing lines of known runners; None where there are none."""
    runs = []
    for lines in printed_lines.streams(tail):
        runs += [*python_runs.pytest_runs(lines), *python_runs.unittest_runs(lines)]
    return tally.merged(runs)
