from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.gate.reports import CUT_LINE, TestReport, merged, read_output, reconciled
from windlass.core.gate.tally import LONGEST_NAME, MOST_NAMES
from windlass.core.printable import printable_line

OUTPUTS = Path(__file__).parent / "outputs"
EXPECTED: dict[str, Any] = json.loads((OUTPUTS / "expected.json").read_text("utf-8"))
"""For each output: runner, ran, skipped, how many failed, their names; null: no known runner."""
PRINTED = sorted(name for name in EXPECTED if name.endswith(".txt"))
GREEN = [
    "ava/green.txt",
    "bats/green-tap.txt",
    "bun/green.txt",
    "ctest/green.txt",
    "deno/green.txt",
    "jest/green.txt",
    "maven/green.txt",
    "mocha/green.txt",
    "node/v18-green-spec.txt",
    "node/v24-green-tap.txt",
    "phpunit/green.txt",
    "pytest/green.txt",
    "pytest/green-quiet.txt",
    "rspec/green.txt",
    "unittest/green-verbose.txt",
    "vitest/green.txt",
]


def output(name: str) -> str:
    return (OUTPUTS / name).read_text("utf-8")


def row(report: TestReport | None) -> Any:
    if report is None:
        return None
    return [report.runner, report.ran, report.skipped, report.failed_count, list(report.failed)]


def is_green(report: TestReport | None) -> bool:
    return report is not None and report.ran > 0 and report.failed_count == 0


def test_every_output_that_was_captured_is_expected_to_mean_something() -> None:
    captured = {str(path.relative_to(OUTPUTS)) for path in OUTPUTS.glob("*/*")}
    assert captured == set(EXPECTED)


@pytest.mark.parametrize("name", PRINTED)
def test_what_real_runners_printed_is_read(name: str) -> None:
    assert row(read_output(output(name))) == EXPECTED[name]


@pytest.mark.parametrize(
    "name", [name for name in PRINTED if "failing" in name or "crashed" in name or "stop" in name]
)
def test_a_run_that_failed_or_crashed_never_reads_as_green(name: str) -> None:
    assert not is_green(read_output(output(name)))


@pytest.mark.parametrize("name", [name for name in PRINTED if "/none" in name])
def test_a_runner_that_found_no_test_ran_none_and_is_known_where_it_says_so(name: str) -> None:
    report = read_output(output(name))
    silent = name in ("ctest/none-folder.txt", "gradle/none.txt")
    assert (report is None) is silent
    assert report is None or (report.ran, report.failed_count) == (0, 0)


@pytest.mark.parametrize("name", GREEN)
def test_a_green_run_cut_at_any_line_is_not_green_before_its_closing_lines(name: str) -> None:
    lines = output(name).splitlines()
    whole = read_output(output(name))
    assert whole is not None
    for end in range(len(lines)):
        report = read_output("\n".join(lines[:end]))
        assert not is_green(report) or (report and report.ran == whole.ran)


def test_a_crate_whose_test_exits_with_0_is_a_failure_though_cargo_is_content() -> None:
    report = read_output(output("cargo/crashed-exit.txt"))
    assert report
    assert report.failed == ("src/lib.rs (cargo did not finish)",)


def test_a_session_that_a_conftest_stopped_is_a_failure_though_it_exits_with_0() -> None:
    report = read_output(output("pytest/stopped-with-0.txt"))
    assert report
    assert report.failed == ("pytest was stopped: _pytest.outcomes.Exit: enough",)


def test_a_test_that_prints_exclamation_marks_stops_nothing() -> None:
    assert is_green(read_output("!!! so there !!!\n1 passed in 0.01s\n!!! and there !!!\n"))


def test_several_runners_in_one_output_are_added_up() -> None:
    report = read_output(output("pytest/failing.txt") + output("jest/failing.txt"))
    assert report
    assert (report.runner, report.ran, report.skipped) == ("jest+pytest", 12, 3)
    assert report.failed_count == 7
    assert "test_a.py::test_bad" in report.failed
    assert "a.test.js › sums › deep › too" in report.failed  # noqa: RUF001 - as jest writes it


def test_a_run_that_may_have_ended_in_what_was_left_out_is_not_missed() -> None:
    head = output("pytest/green.txt").splitlines()[:5]
    tail = output("pytest/green.txt")
    assert not is_green(read_output("\n".join([*head, tail])))
    assert is_green(read_output("\n".join([*head, CUT_LINE, tail])))


def test_nextest_and_dotnet_are_read_as_their_documentation_shows_them() -> None:
    nextest = """\
        PASS [   0.004s] demo tests::a
        FAIL [   0.005s] demo tests::b
────────────
     Summary [   0.010s] 2 tests run: 1 passed, 1 failed, 1 skipped
        FAIL [   0.005s] demo tests::b
error: test run failed
"""
    assert row(read_output(nextest)) == ["nextest", 2, 1, 1, ["demo tests::b"]]
    stopped = "     Summary [   0.010s] 2/9 tests run: 1 passed, 1 timed out, 0 skipped"
    assert row(read_output(stopped)) == ["nextest", 2, 7, 1, []]
    dotnet = """\
  Failed Demo.Tests.Bad [5 ms]
Failed!  - Failed:     1, Passed:     2, Skipped:     1, Total:     4, Duration: 5 ms - demo.dll
"""
    assert row(read_output(dotnet)) == ["dotnet", 3, 1, 1, ["Demo.Tests.Bad"]]


def test_names_are_few_short_printable_lines() -> None:
    lines = [f"FAILED a.py::test_{n}\u202e{'x' * 900}" for n in range(200)]
    report = read_output("\n".join([*lines, "200 failed in 1.00s"]))
    assert report
    assert report.failed_count == 200
    assert len(report.failed) == MOST_NAMES
    assert all(name == printable_line(name) for name in report.failed)
    assert all(len(name) <= LONGEST_NAME for name in report.failed)


def test_a_number_that_no_project_reaches_is_no_count() -> None:
    assert read_output(f"{'9' * 5000} passed in 0.1s") is None
    assert read_output("٣ passed in 0.1s") is None


def test_nothing_and_prose_are_no_runner() -> None:
    assert read_output("") is None
    assert read_output("all 3 tests passed, I promise\nTests: fine\nok\nFAIL\n") is None


def test_merging_nothing_is_nothing() -> None:
    assert merged([]) is None


def test_a_failure_that_only_the_output_tells_is_not_lost_beside_junit_files() -> None:
    junit = TestReport(runner="junit", ran=1)
    printed = TestReport(runner="pytest", ran=1, failed=("stopped",), failed_count=1)
    both = reconciled(junit, printed)
    assert both
    assert (both.ran, both.failed, both.failed_count) == (1, ("stopped",), 1)
    assert reconciled(junit, None) == junit
    assert reconciled(None, printed) == printed
    assert reconciled(None, None) is None


LINES = sorted({line for name in PRINTED for line in output(name).split("\n") if len(line) < 200})


@given(st.text())
def test_no_text_is_too_strange(text: str) -> None:
    read_output(text)


@given(st.lists(st.sampled_from(LINES) | st.text(max_size=20), max_size=60))
def test_lines_of_all_runners_in_any_order_give_counts_that_fit_together(lines: list[str]) -> None:
    report = read_output("\n".join(lines))
    if report is not None:
        assert report.ran >= 0
        assert report.skipped >= 0
        assert (report.failed_count > 0) >= bool(report.failed)
