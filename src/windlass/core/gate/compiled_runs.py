"""The closing lines of cargo test, cargo nextest, go test, Maven, Gradle, CTest and dotnet.

Pure and total. Each crate, package or module closes by itself, and all of them are added up. `go
test` without `-v` names packages only: each that passed counts as one test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from windlass.core.gate.printed_lines import CUT_LINE
from windlass.core.gate.tally import TestReport, report, unfinished

_CARGO_STARTS = re.compile(r"running ([0-9]{1,9}) tests?")
_CARGO_CLOSING = re.compile(
    r"test result: (?:ok|FAILED)\. ([0-9]{1,9}) passed; ([0-9]{1,9}) failed; ([0-9]{1,9}) ignored; "
    r"([0-9]{1,9}) measured; .*"
)
_CARGO_TARGET = re.compile(r" +(?:Running (?:unittests )?(\S+) \(.*\)|(Doc-tests \S+))")

_NEXTEST_CLOSING = re.compile(
    r" *Summary \[ *[0-9.]{1,12}s\] ([0-9]{1,9})(?:/([0-9]{1,9}))? tests? run: (.*)"
)
_NEXTEST_COUNT = re.compile(r"([0-9]{1,9}) (passed|failed|exec failed|timed out|skipped)\b.*")
_NEXTEST_FAILED = re.compile(
    r" *(?:FAIL|ABORT|TIMEOUT|XFAIL|SIG[A-Z]{1,8}|TRY [0-9]{1,3} [A-Z]{1,8}) \[ *>?[0-9.]{1,12}s\]"
    r"(?: \([0-9 /]{1,24}\))? (\S.*)"
)

_GO_PACKAGE = re.compile(r"(ok  |FAIL|\?   )\t(\S+)(?:[ \t](.*))?")
_GO_TEST = re.compile(r" *--- (PASS|FAIL|SKIP): (\S+) \([0-9.]{1,12}s\)")

_MAVEN_CLOSING = re.compile(
    r"(?:\[[A-Z]{1,8}\] )?Tests run: ([0-9]{1,9}), Failures: ([0-9]{1,9}), Errors: ([0-9]{1,9}), "
    r"Skipped: ([0-9]{1,9})(?:, Flakes: [0-9]{1,9})?"
)
_MAVEN_FAILED = re.compile(
    r"(?:\[ERROR\] )?(\S+) +(?:-- )?Time elapsed: [0-9.,]{1,12} s(?:ec)? +<<< (?:FAILURE|ERROR)!"
)
_MAVEN_OLD_NAME = re.compile(r"([^()]+)\(([^()]+)\)")
_MAVEN_NOTHING = re.compile(r"(?:\[[A-Z]{1,8}\] )?No tests to run\.")
_MAVEN_STARTS = re.compile(r"(?:\[INFO\] )? ?T E S T S")

_GRADLE_CLOSING = re.compile(
    r"([0-9]{1,9}) tests? completed(?:, ([0-9]{1,9}) failed)?(?:, ([0-9]{1,9}) skipped)?"
)

_CTEST_CLOSING = re.compile(
    r"[0-9]{1,3}% tests passed, ([0-9]{1,9}) tests? failed out of ([0-9]{1,9})"
)
_CTEST_LISTED = re.compile(r"\t +[0-9]{1,9} - (.+) \(([A-Za-z _]{1,40})\).*")
_CTEST_STARTS = re.compile(r"Test project \S.*")
_CTEST_NOTHING = "No tests were found!!!"

_DOTNET_CLOSING = re.compile(
    r"(?:Passed|Failed|Skipped)! +- Failed: +([0-9]{1,9}), Passed: +([0-9]{1,9}), "
    r"Skipped: +([0-9]{1,9}), Total: .*"
)
_DOTNET_FAILED = re.compile(r"  Failed (\S.*) \[[^\[\]]{1,20}\]")
_DOTNET_NOTHING = re.compile(r"No test (?:is available in|matches the given testcase filter) .*")


def cargo_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every crate's tests and documentation tests; one that ended the process has failed.

    A test that calls `std::process::exit(0)` ends its crate's tests, and cargo exits with 0.
    """
    target, waiting, names, listing = "", False, list[str](), False
    for line in lines:
        if line == CUT_LINE:
            waiting = False
        elif starts := _CARGO_STARTS.fullmatch(line):
            if waiting:
                yield unfinished("cargo", target)
            waiting, names, listing = int(starts[1]) > 0, [], False
        elif named := _CARGO_TARGET.fullmatch(line):
            if waiting:
                yield unfinished("cargo", target)
            target, waiting = named[1] or named[2], False
        elif closing := _CARGO_CLOSING.fullmatch(line):
            passed, failed, ignored, measured = map(int, closing.groups())
            yield report(
                "cargo",
                ran=passed + failed + measured,
                skipped=ignored,
                failed=names,
                failed_count=failed,
            )
            waiting, names, listing = False, [], False
        elif line == "failures:":
            names, listing = [], True
        elif listing and line.startswith("    "):
            names.append(line)
    if waiting:
        yield unfinished("cargo", target)


def nextest_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every run of cargo nextest that came to its summary; it names failures before and after."""
    names = list[str]()
    closing: re.Match[str] | None = None
    for line in lines:
        if failed := _NEXTEST_FAILED.fullmatch(line):
            names.append(failed[1])
        elif match := _NEXTEST_CLOSING.fullmatch(line):
            if closing:
                yield _nextest_report(closing, names)
                names = []
            closing = match
    if closing:
        yield _nextest_report(closing, names)


def _nextest_report(closing: re.Match[str], names: list[str]) -> TestReport:
    parts = map(_NEXTEST_COUNT.fullmatch, closing[3].split(", "))
    counts = {part[2]: int(part[1]) for part in parts if part}
    ran = int(closing[1])
    missing = int(closing[2] or 0) - ran
    return report(
        "nextest",
        ran=ran,
        skipped=counts.get("skipped", 0) + max(missing, 0),
        failed=names,
        failed_count=sum(counts.get(word, 0) for word in ("failed", "exec failed", "timed out")),
    )


def go_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every package of `go test`, with its tests if `-v` showed them."""
    verbose = any(line.startswith("=== RUN ") for line in lines)
    tests = dict[str, str]()
    for line in lines:
        if test := _GO_TEST.fullmatch(line):
            tests[test[2]] = test[1]
        elif package := _GO_PACKAGE.fullmatch(line):
            yield _go_report(package, tests, verbose=verbose)
            tests = {}


def _go_report(package: re.Match[str], tests: dict[str, str], *, verbose: bool) -> TestReport:
    outcome, path, rest = package[1].strip(), package[2], package[3] or ""
    if outcome == "?":
        return report("go", ran=0)
    parents = {name.rpartition("/")[0] for name in tests}
    passed = sum(state == "PASS" and name not in parents for name, state in tests.items())
    skipped = sum(state == "SKIP" and name not in parents for name, state in tests.items())
    if outcome == "ok":
        if not verbose and "[no tests to run]" not in rest:
            passed = max(passed, 1)
        return report("go", ran=passed, skipped=skipped)
    blamed = {name.rpartition("/")[0] for name, state in tests.items() if state == "FAIL"}
    failed = [
        f"{path} {name}" for name, state in tests.items() if state == "FAIL" and name not in blamed
    ]
    return report(
        "go",
        ran=passed + len(failed),
        skipped=skipped,
        failed=failed or [f"{path} {rest}" if rest.startswith("[") else path],
        failed_count=len(failed) or 1,
    )


def maven_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every module's totals of Surefire or Failsafe; tests that began without totals failed."""
    begun, names = False, list[str]()
    for line in lines:
        if line == CUT_LINE:
            begun = False
        elif _MAVEN_STARTS.fullmatch(line):
            if begun:
                yield unfinished("maven")
            begun, names = True, []
        elif failed := _MAVEN_FAILED.fullmatch(line):
            old = _MAVEN_OLD_NAME.fullmatch(failed[1])
            names.append(f"{old[2]}.{old[1]}" if old else failed[1])
        elif closing := _MAVEN_CLOSING.fullmatch(line):
            run, failures, errors, skipped = map(int, closing.groups())
            yield report(
                "maven",
                ran=run - skipped,
                skipped=skipped,
                failed=names,
                failed_count=failures + errors,
            )
            begun, names = False, []
        elif _MAVEN_NOTHING.fullmatch(line):
            yield report("maven", ran=0)
    if begun:
        yield unfinished("maven")


def gradle_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every task of Gradle's that counted its tests, which it does only where some failed."""
    names = list[str]()
    for line in lines:
        if line.endswith(" FAILED") and " > " in line:
            names.append(line.removesuffix(" FAILED"))
        elif closing := _GRADLE_CLOSING.fullmatch(line):
            completed, count, skipped = (int(number or 0) for number in closing.groups())
            yield report(
                "gradle",
                ran=completed - skipped,
                skipped=skipped,
                failed=names,
                failed_count=count,
            )
            names = []


def ctest_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every run of CTest; one that began and has no closing line is a failure."""
    begun, after = False, list[str]()
    closing: re.Match[str] | None = None
    for line in [*lines, "Test project end"]:
        if line == CUT_LINE:
            begun = False
        elif _CTEST_STARTS.fullmatch(line):
            if closing:
                yield _ctest_report(closing, after)
            elif begun:
                yield unfinished("ctest")
            begun, closing, after = True, None, []
        elif match := _CTEST_CLOSING.fullmatch(line):
            closing = match
        elif line == _CTEST_NOTHING:
            begun = False
            yield report("ctest", ran=0)
        elif closing:
            after.append(line)


def _ctest_report(closing: re.Match[str], after: Sequence[str]) -> TestReport:
    names, skipped, disabled, failing = list[str](), 0, 0, False
    for line in after:
        if line.startswith("The following tests "):
            failing = line == "The following tests FAILED:"
        elif listed := _CTEST_LISTED.fullmatch(line):
            if failing:
                names.append(listed[1])
            elif listed[2] == "Disabled":
                disabled += 1
            else:
                skipped += 1
    failed, total = int(closing[1]), int(closing[2])
    return report(
        "ctest",
        ran=total - skipped,
        skipped=skipped + disabled,
        failed=names,
        failed_count=failed,
    )


def dotnet_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every assembly's closing line of `dotnet test`."""
    names = list[str]()
    for line in lines:
        if failed := _DOTNET_FAILED.fullmatch(line):
            names.append(failed[1])
        elif closing := _DOTNET_CLOSING.fullmatch(line):
            count, passed, skipped = map(int, closing.groups())
            yield report(
                "dotnet", ran=passed + count, skipped=skipped, failed=names, failed_count=count
            )
            names = []
        elif _DOTNET_NOTHING.fullmatch(line):
            yield report("dotnet", ran=0)
