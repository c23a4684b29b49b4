"""The closing lines of RSpec, minitest, PHPUnit and of bats where it prints for people.

Pure and total. What bats prints for programs is TAP: `tap_runs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from windlass.core.gate.printed_lines import CUT_LINE
from windlass.core.gate.tally import TestReport, report, unfinished

_RSPEC_CLOSING = re.compile(
    r"([0-9]{1,9}) examples?, ([0-9]{1,9}) failures?(?:, ([0-9]{1,9}) pending)?"
    r"(?:, ([0-9]{1,9}) errors? occurred outside of examples)?"
)
_RSPEC_FAILED = re.compile(r"rspec (\S.*)")
_RSPEC_UNLOADED = re.compile(r"An error occurred while loading (\S+)(?: .*)?")

_MINITEST_CLOSING = re.compile(
    r"([0-9]{1,9}) (?:runs|tests), [0-9]{1,9} assertions, ([0-9]{1,9}) failures, "
    r"([0-9]{1,9}) errors, ([0-9]{1,9}) skips"
)
_MINITEST_HEADING = re.compile(r" *[0-9]{1,9}\) (?:Failure|Error):")
_MINITEST_PLACE = re.compile(r"(?: \[[^\[\]]*\])?:")

_PHPUNIT_STARTS = re.compile(r"PHPUnit [0-9]\S* by Sebastian Bergmann.*")
_PHPUNIT_FINE = re.compile(r"OK \(([0-9]{1,9}) tests?, [0-9]{1,9} assertions?\)")
_PHPUNIT_CLOSING = re.compile(r"Tests: ([0-9]{1,9}), Assertions: [0-9]{1,9}(, .*)?\.")
_PHPUNIT_COUNT = re.compile(r"([A-Z][A-Za-z ]{1,30}): ([0-9]{1,9})")
_PHPUNIT_SECTION = re.compile(r"There (?:was|were) [0-9]{1,9} ([a-zA-Z ]{1,40}):")
_PHPUNIT_LISTED = re.compile(r"[0-9]{1,9}\) (\S.*)")

_BATS_CLOSING = re.compile(r"([0-9]{1,9}) tests?, ([0-9]{1,9}) failures?(?:, (.{1,80}))?")
_BATS_SKIPPED = re.compile(r"([0-9]{1,9}) skipped")
_BATS_FAILED = re.compile(r" *✗ (.+)")


def rspec_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every run of RSpec; a file that could not be loaded is a failure called by its path."""
    names = list[str]()
    closing: re.Match[str] | None = None
    for line in lines:
        if unloaded := _RSPEC_UNLOADED.fullmatch(line):
            names.append(unloaded[1].removesuffix("."))
        elif match := _RSPEC_CLOSING.fullmatch(line):
            if closing:
                yield _rspec_report(closing, names)
                names = []
            closing = match
        elif closing and (failed := _RSPEC_FAILED.fullmatch(line)):
            names.append(failed[1].replace("'", ""))
    if closing:
        yield _rspec_report(closing, names)


def _rspec_report(closing: re.Match[str], names: list[str]) -> TestReport:
    examples, failures, pending, errors = (int(number or 0) for number in closing.groups())
    return report(
        "rspec",
        ran=examples - pending,
        skipped=pending,
        failed=names,
        failed_count=failures + errors,
    )


def minitest_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every run of minitest or test-unit that came to its end."""
    names, named = list[str](), False
    for line in lines:
        if named:
            names.append(_MINITEST_PLACE.sub("", line))
            named = False
        elif _MINITEST_HEADING.fullmatch(line):
            named = True
        elif closing := _MINITEST_CLOSING.fullmatch(line):
            runs, failures, errors, skips = map(int, closing.groups())
            yield report(
                "minitest",
                ran=runs - skips,
                skipped=skips,
                failed=names,
                failed_count=failures + errors,
            )
            names = []


def phpunit_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every run of PHPUnit; one that began and has no closing line is a failure."""
    begun, names, failing = False, list[str](), False
    for line in lines:
        if line == CUT_LINE:
            begun = False
        elif _PHPUNIT_STARTS.fullmatch(line):
            if begun:
                yield unfinished("phpunit")
            begun, names, failing = True, [], False
        elif section := _PHPUNIT_SECTION.fullmatch(line):
            failing = section[1].rstrip("s") in ("error", "failure")
        elif failing and (listed := _PHPUNIT_LISTED.fullmatch(line)):
            names.append(listed[1])
        elif (closed := _phpunit_closing(line, names)) is not None:
            yield closed
            begun, names, failing = False, [], False
    if begun:
        yield unfinished("phpunit")


def _phpunit_closing(line: str, names: list[str]) -> TestReport | None:
    if fine := _PHPUNIT_FINE.fullmatch(line):
        return report("phpunit", ran=int(fine[1]))
    if line == "No tests executed!":
        return report("phpunit", ran=0)
    closing = _PHPUNIT_CLOSING.fullmatch(line)
    if not closing:
        return None
    parts = map(_PHPUNIT_COUNT.fullmatch, (closing[2] or "").split(", "))
    counts = {part[1]: int(part[2]) for part in parts if part}
    skipped = counts.get("Skipped", 0) + counts.get("Incomplete", 0)
    return report(
        "phpunit",
        ran=int(closing[1]) - skipped,
        skipped=skipped,
        failed=names,
        failed_count=counts.get("Errors", 0) + counts.get("Failures", 0),
    )


def bats_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every run of bats that came to its end."""
    names = list[str]()
    for line in lines:
        if failed := _BATS_FAILED.fullmatch(line):
            names.append(failed[1])
        elif closing := _BATS_CLOSING.fullmatch(line):
            skips = map(_BATS_SKIPPED.fullmatch, (closing[3] or "").split(", "))
            skipped = sum(int(skip[1]) for skip in skips if skip)
            yield report(
                "bats",
                ran=int(closing[1]) - skipped,
                skipped=skipped,
                failed=names,
                failed_count=int(closing[2]),
            )
            names = []
