"""The closing lines of jest, vitest, mocha, ava, bun and deno.

Pure and total. What node's own runner prints is in `tap_runs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from windlass.core.gate.printed_lines import CUT_LINE
from windlass.core.gate.tally import TestReport, report, unfinished

_COUNT = re.compile(r"([0-9]{1,9}) ([a-z]{1,20})(?: [a-z]{1,20})?")

_JEST_TESTS = re.compile(r"(Test Suites|Tests): +([0-9].{0,200} total)")
_JEST_NOTHING = re.compile(r"No tests found(?:, exiting with code [0-9]+| related to files .*)")
_JEST_UNLOADED = "  ● Test suite failed to run"

_VITEST_COUNTS = re.compile(r" *(Test Files|Tests)  (no tests|[0-9].{0,200} \([0-9]{1,9}\))")
_VITEST_ERRORS = re.compile(r" *Errors  ([0-9]{1,9}) errors?")
_VITEST_STARTS = re.compile(r" ?RUN  v[0-9].*")
_VITEST_FAILED = re.compile(r" ?FAIL  +(\S.*)")
_VITEST_NOTHING = re.compile(r"No test (?:files|suites?) found.*")

_MOCHA_PASSING = re.compile(r" *([0-9]{1,9}) passing \([0-9.]{1,12} ?[a-z]{1,3}\)")
_MOCHA_MORE = re.compile(r" *([0-9]{1,9}) (pending|failing)")
_MOCHA_FAILED = re.compile(r" {1,4}([0-9]{1,9})\) (.*)")
_MOCHA_NOTHING = re.compile(r"(?:Error|Error: ✖ ERROR|✖ ERROR): No test files found.*")
_MOCHA_TITLE_LINES = 12

_AVA_COUNT = re.compile(
    r" *([0-9]{1,9}) "
    r"(?:tests? (passed|failed|skipped|todo)|(?:hooks? )?(known|uncaught|unhandled|failed|timed).*)"
)
_AVA_FAILED = re.compile(r" *✘ (?:\[fail\]: )?(.+)")
_AVA_NOTHING = re.compile(r" *✘ Couldn.t find any files to test.*")

_BUN_CLOSING = re.compile(r"Ran ([0-9]{1,9}) tests? across [0-9]{1,9} files?\..*")
_BUN_COUNT = re.compile(r" ?([0-9]{1,9}) (pass|fail|skip|todo|error)s?")
_BUN_FAILED = re.compile(r"(?:\(fail\)|✗) (.+)")
_BUN_TIME = re.compile(r" \[[0-9.]{1,12}[a-zµ]{1,3}\]")
_BUN_LOOKBACK = 12

_DENO_CLOSING = re.compile(r"(?:ok|FAILED) \| ([0-9]{1,9} passed.{0,200})")
_DENO_COUNT = re.compile(r"([0-9]{1,9}) (passed|failed|ignored)\b.*")
_DENO_FAILED = re.compile(r"(.+) => \S+:[0-9]{1,9}:[0-9]{1,9}")
_DENO_STARTS = re.compile(r"running ([0-9]{1,9}) tests? from (\S+)")
_DENO_NOTHING = "error: No test modules found"


def _counts(text: str, separator: str) -> dict[str, int]:
    parts = (_COUNT.fullmatch(part) for part in text.split(separator))
    return {part[2]: int(part[1]) for part in parts if part}


def jest_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every run of jest; a file that could not be loaded is a failure called by its path."""
    file, names, unloaded, suites = "", list[str](), dict[str, None](), 0
    for line in lines:
        if line.startswith(("FAIL ", " FAIL ")):
            file = line.strip()[5:].strip().removeprefix("./")
        elif line == _JEST_UNLOADED:
            unloaded[file] = None
            names.append(file)
        elif line.startswith("  ● ") and not line.startswith("  ●  "):
            names.append(f"{file} \u203a {line[4:]}" if file else line[4:])
        elif _JEST_NOTHING.fullmatch(line):
            yield report("jest", ran=0)
        elif match := _JEST_TESTS.fullmatch(line):
            counts = _counts(match[2], ", ")
            if match[1] == "Test Suites":
                suites = counts.get("failed", 0)
                continue
            failed = counts.get("failed", 0)
            yield report(
                "jest",
                ran=counts.get("passed", 0) + failed,
                skipped=counts.get("skipped", 0) + counts.get("todo", 0),
                failed=names,
                failed_count=failed + len(unloaded) or suites,
            )
            file, names, unloaded, suites = "", [], {}, 0


def vitest_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every run of vitest; one that began and has no closing lines is a failure."""
    begun, names, unloaded, files = False, list[str](), set[str](), 0
    for at, line in enumerate(lines):
        if line == CUT_LINE:
            begun = False
        elif _VITEST_STARTS.fullmatch(line):
            if begun:
                yield unfinished("vitest")
            begun, names, unloaded, files = True, [], set(), 0
        elif begun and (failed := _VITEST_FAILED.fullmatch(line)):
            name = failed[1].replace("  ", " ", 1)  # the project's name stands before the file's
            if name.endswith(" ]") and " [ " in name:  # a file that could not be loaded
                name = name.partition(" [ ")[0]
                unloaded.add(name)
            names.append(name)
        elif begun and _VITEST_NOTHING.fullmatch(line):
            yield report("vitest", ran=0)
            begun = False
        elif match := _VITEST_COUNTS.fullmatch(line):
            counts = _counts(match[2].rpartition(" (")[0], " | ")
            if match[1] == "Test Files":
                files = counts.get("failed", 0)
                continue
            errors = next(map(_VITEST_ERRORS.fullmatch, lines[at + 1 : at + 2]), None)
            yield _vitest_report(
                counts, names, len(unloaded), files=files, errors=int(errors[1]) if errors else 0
            )
            begun, names, unloaded, files = False, [], set(), 0
    if begun:
        yield unfinished("vitest")


def _vitest_report(
    counts: dict[str, int], names: list[str], unloaded: int, *, files: int, errors: int
) -> TestReport:
    failed = counts.get("failed", 0)
    if errors:
        names = [*names, "errors outside of tests"]
    return report(
        "vitest",
        ran=counts.get("passed", 0) + failed,
        skipped=counts.get("skipped", 0) + counts.get("todo", 0),
        failed=names,
        failed_count=(failed + unloaded or files) + errors,
    )


def mocha_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every run of mocha that came to its end."""
    for at, line in enumerate(lines):
        if passing := _MOCHA_PASSING.fullmatch(line):
            more = dict[str, int]()
            for after in lines[at + 1 : at + 3]:
                if match := _MOCHA_MORE.fullmatch(after):
                    more[match[2]] = int(match[1])
            failed = more.get("failing", 0)
            yield report(
                "mocha",
                ran=int(passing[1]) + failed,
                skipped=more.get("pending", 0),
                failed=_mocha_names(lines, at + 1) if failed else (),
                failed_count=failed,
            )
        elif _MOCHA_NOTHING.fullmatch(line):
            yield report("mocha", ran=0)


def _mocha_names(lines: Sequence[str], start: int) -> Iterator[str]:
    """Titles as `--grep` takes them: those of the suites and of the test, joined by spaces."""
    number, title, left = 1, list[str](), 0
    for at in range(start, len(lines)):  # no slice: it would copy the rest for every run
        line = lines[at]
        if _MOCHA_PASSING.fullmatch(line):
            return
        found = _MOCHA_FAILED.fullmatch(line)
        if found and int(found[1]) == number:
            number, title, left = number + 1, [found[2]], _MOCHA_TITLE_LINES
        elif left:
            title.append(line.strip())
            left -= 1
        if left and title[-1].endswith(":"):
            yield " ".join(title)[:-1]
            left = 0


def ava_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every run of ava that came to its end."""
    passed, names = 0, list[str]()
    counts: dict[str, int] | None = None
    for line in [*lines, ""]:
        bare = line.strip()
        if bare == "─":
            counts = {}
        elif counts is not None and (match := _AVA_COUNT.fullmatch(line)):
            counts[match[2] or match[3]] = int(match[1])
        elif _AVA_NOTHING.fullmatch(line):
            yield report("ava", ran=0)
        elif counts:
            yield _ava_report(counts, passed, names)
            passed, names, counts = 0, [], None
        elif bare:
            counts = None
            passed += bare.startswith("✔ ")
            if failed := _AVA_FAILED.fullmatch(line):
                names.append(failed[1])


def _ava_report(counts: dict[str, int], passed: int, names: list[str]) -> TestReport:
    failed = counts.get("failed", 0)
    known = counts.get("known", 0)
    broken = sum(counts.get(word, 0) for word in ("uncaught", "unhandled", "timed"))
    return report(
        "ava",
        # Those that passed are not counted where some failed; known failures have a ✔ too.
        ran=failed + (counts["passed"] + known if "passed" in counts else max(passed, known)),
        skipped=counts.get("skipped", 0) + counts.get("todo", 0),
        failed=names,
        failed_count=failed + broken,
    )


def bun_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every run of `bun test` that came to its end."""
    names = list[str]()
    for at, line in enumerate(lines):
        if failed := _BUN_FAILED.fullmatch(line):
            names.append(_BUN_TIME.sub("", failed[1]))
        elif line == "No tests found!":
            yield report("bun", ran=0)
        elif _BUN_CLOSING.fullmatch(line):
            before = map(_BUN_COUNT.fullmatch, lines[max(0, at - _BUN_LOOKBACK) : at])
            counts = {match[2]: int(match[1]) for match in before if match}
            errors = counts.get("error", 0)
            if errors:
                names.append("errors outside of tests")
            yield report(
                "bun",
                # A file that cannot be loaded is an error, and one of those that fail.
                ran=counts.get("pass", 0) + counts.get("fail", 0) - errors,
                skipped=counts.get("skip", 0) + counts.get("todo", 0),
                failed=names,
                failed_count=max(counts.get("fail", 0), errors),
            )
            names = []


def deno_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every run of `deno test`; one that began and has no closing line is a failure."""
    begun, names, listing = "", list[str](), False
    for line in lines:
        if line == CUT_LINE:
            begun = ""
        elif starts := _DENO_STARTS.fullmatch(line):
            begun = starts[2]
        elif line.strip() == "FAILURES":
            names, listing = [], True
        elif closing := _DENO_CLOSING.fullmatch(line):
            parts = map(_DENO_COUNT.fullmatch, closing[1].split(" | "))
            counts = {part[2]: int(part[1]) for part in parts if part}
            failed = counts.get("failed", 0)
            yield report(
                "deno",
                ran=counts.get("passed", 0) + failed,
                skipped=counts.get("ignored", 0),
                failed=names,
                failed_count=failed,
            )
            begun, names, listing = "", [], False
        elif line == _DENO_NOTHING:
            yield report("deno", ran=0)
        elif listing and (name := _DENO_FAILED.fullmatch(line)):
            names.append(name[1])
    if begun:
        yield unfinished("deno", begun)
