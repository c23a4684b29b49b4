"""The closing lines of pytest and unittest, and of what prints as they do (Django, trial).

Pure and total. tox and nox need no word here: what they run closes with these lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from windlass.core.gate.printed_lines import CUT_LINE
from windlass.core.gate.tally import TestReport, report, unfinished

_PYTEST_TIME = re.compile(r"[0-9.]{1,12} ?s(?:econds)?(?: \([^()]{1,40}\))?")
_PYTEST_COUNT = re.compile(r"([0-9]{1,9}) ([a-z][a-z ]{0,40})")
_PYTEST_COLLECTED = re.compile(r"[0-9/]{1,20} tests? collected(?: \([^()]{1,60}\))?")
_PYTEST_NOTHING = ("no tests ran", "no tests collected")
_PYTEST_WORDS = frozenset(
    "passed failed error errors skipped xfailed xpassed deselected warning warnings rerun".split()
)
_PYTEST_STARTS = re.compile(r"=+ test session starts =+(?: \([^()]*\))?")
_PYTEST_STOPS = ("_pytest.outcomes.Exit", "Interrupted", "KeyboardInterrupt", "xdist.")
_ABOUT = re.compile(r"ERROR (?:at (?:setup|teardown) of|collecting) ")

_UNITTEST_RAN = re.compile(r"Ran ([0-9]{1,9}) tests? in [0-9.]{1,20}s")
_UNITTEST_CLOSING = re.compile(r"(?:OK|PASSED|FAILED|NO TESTS RAN)(?: \(([^()]*)\))?")
_UNITTEST_COUNT = re.compile(r"([a-zA-Z ]{1,40})=([0-9]{1,9})")
_UNITTEST_FAILED = re.compile(r"(?:FAIL|ERROR|UNEXPECTED SUCCESS): (.+)")
_UNITTEST_NAME = re.compile(r"(\S+) \(([^\s()]+)\)(.*)")
_UNITTEST_CLOSE = 4
"""So many lines after `Ran N tests` the closing word stands at the latest."""


def pytest_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every session of pytest; one that began and has no closing line is a failure."""
    begun = False
    listed, headings, stopped = list[str](), list[str](), ""
    for at, line in enumerate(lines):
        if line == CUT_LINE:
            begun = False
        elif _PYTEST_STARTS.fullmatch(line):
            if begun:
                yield unfinished("pytest")
            begun, listed, headings, stopped = True, [], [], ""
        elif (counts := _pytest_counts(line)) is not None:
            # An exit that a plugin or a conftest.py asked for is told after the closing line.
            after = next((_pytest_stopped(line) for line in lines[at + 1 : at + 2]), "")
            yield _pytest_report(counts, listed or headings, stopped or after)
            begun, listed, headings, stopped = False, [], [], ""
        elif line.startswith(("FAILED ", "ERROR ", "SUBFAIL")):
            listed.append(_pytest_name(line))
        elif line.startswith("___") and line.endswith("___"):
            headings.append(_ABOUT.sub("", line.strip("_").strip()))
        else:
            stopped = _pytest_stopped(line) or stopped
    if begun:
        yield unfinished("pytest")


def _pytest_report(counts: dict[str, int], names: Sequence[str], stopped: str) -> TestReport:
    failed = counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0)
    if stopped and not failed:
        # pytest.exit(returncode=0) leaves a closing line like any other, and exits with 0.
        names, failed = (f"pytest was stopped: {stopped}",), 1
    return report(
        "pytest",
        ran=sum(counts.get(word, 0) for word in ("passed", "failed", "xfailed", "xpassed")),
        skipped=counts.get("skipped", 0),
        failed=names,
        failed_count=failed,
    )


def _pytest_stopped(line: str) -> str:
    words = line.strip("! ") if line.startswith("!!!") and line.endswith("!!!") else ""
    return words if words.startswith(_PYTEST_STOPS) else ""


def _pytest_counts(line: str) -> dict[str, int] | None:
    said, _, seconds = line.strip("= ").rpartition(" in ")
    if not said or not _PYTEST_TIME.fullmatch(seconds):
        return None
    if said in _PYTEST_NOTHING or _PYTEST_COLLECTED.fullmatch(said):
        return {}
    counts = dict[str, int]()
    for part in said.split(", "):
        if not (count := _PYTEST_COUNT.fullmatch(part)):
            return None
        counts[count[2]] = int(count[1])
    return counts if _PYTEST_WORDS.intersection(counts) else None


def _pytest_name(line: str) -> str:
    """`FAILED a.py::test_x[e - f] - why` → `a.py::test_x[e - f]`; brackets may hold anything."""
    name = line.partition(" ")[2]
    if line.startswith("SUBFAIL") and "::" in name:
        # What the subtest is called stands before the name, and may hold spaces.
        name = name[name.rfind(" ", 0, name.index("::")) + 1 :]
    opened = 0
    for at, letter in enumerate(name):
        opened += (letter == "[") - (letter == "]")
        if opened == 0 and name.startswith(" - ", at):
            return name[:at]
    return name if opened == 0 else name.partition(" - ")[0]


def unittest_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every run of unittest that said how it ended."""
    names, unloaded = list[str](), 0
    for at, line in enumerate(lines):
        if failed := _UNITTEST_FAILED.fullmatch(line):
            name, loaded = _unittest_name(failed[1])
            names.append(name)
            unloaded += not loaded
        elif ran := _UNITTEST_RAN.fullmatch(line):
            counts = _unittest_counts(lines[at + 1 : at + 1 + _UNITTEST_CLOSE])
            if counts is not None:
                skipped = counts.get("skipped", 0) + counts.get("skips", 0)
                yield report(
                    "unittest",
                    ran=int(ran[1]) - skipped - unloaded,
                    skipped=skipped,
                    failed=names,
                    failed_count=sum(
                        counts.get(word, 0)
                        for word in ("failures", "errors", "unexpected successes")
                    ),
                )
            names, unloaded = [], 0


def _unittest_counts(after: Sequence[str]) -> dict[str, int] | None:
    closing = next((line for line in after if line), "")
    if not (match := _UNITTEST_CLOSING.fullmatch(closing)):
        return None
    parts = (_UNITTEST_COUNT.fullmatch(part) for part in (match[1] or "").split(", "))
    return {part[1]: int(part[2]) for part in parts if part}


def _unittest_name(said: str) -> tuple[str, bool]:
    """The dotted name that `python -m unittest` takes, and whether its module could be loaded."""
    match = _UNITTEST_NAME.fullmatch(said)
    if not match:
        return said, True
    method, place, subtest = match.groups()
    if place.startswith("unittest.loader."):
        return method, False
    return (place if place.endswith(f".{method}") else f"{place}.{method}") + subtest, True
