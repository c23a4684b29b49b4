"""A pytest plugin: says at the end of a run which folders of tests took longest.

Times are those of the tests themselves (setup, call and teardown), added up over every worker, so
that the sum is more than a run beside others took.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import PurePath

import pytest

_SHOWN = 10
_FEWEST_WHEN_QUIET = 2


def pytest_configure(config: pytest.Config) -> None:
    """Has each run count for itself."""
    config.pluginmanager.register(FolderTimes())


class FolderTimes:
    """Seconds and tests of each folder that holds test files."""

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._tests: defaultdict[str, int] = defaultdict(int)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Adds one phase of a test; those that workers ran are reported here too."""
        folder = str(PurePath(report.location[0]).parent)
        self._seconds[folder] += report.duration
        self._tests[folder] += report.when == "setup"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Prints the table; a quiet run of one folder has nothing to compare."""
        quiet = terminalreporter.verbosity < 0
        if not self._seconds or (quiet and len(self._seconds) < _FEWEST_WHEN_QUIET):
            return
        terminalreporter.write_sep("=", "slowest folders")
        slowest = sorted(self._seconds.items(), key=lambda folder: folder[1], reverse=True)
        for folder, seconds in slowest[:_SHOWN]:
            count = self._tests[folder]
            tests = "1 test" if count == 1 else f"{count} tests"
            terminalreporter.write_line(f"{seconds:7.1f} s  {folder}  ({tests})")
