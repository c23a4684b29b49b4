"""Runs that print TAP (node, bats, tap, tape, mocha or ava when asked), and node's own summary.

Pure and total. A stream closes with a block of counts (`# tests 3`, `# pass 3`, ...), with the line
of node-tap (`# { total: 3, pass: 3 }`), or else its plan (`1..3`) is held against its results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from windlass.core.gate.printed_lines import CUT_LINE
from windlass.core.gate.tally import LONGEST_NAME, MOST_NAMES, TestReport, report

_RESULT = re.compile(r"( *)(not )?ok ([0-9]{1,9})(?: -)?(?: (.*))?")
_PLAN = re.compile(r"1\.\.([0-9]{1,9})(?: *#.*)?")
_VERSION = re.compile(r"TAP version 1[0-9]")
_COUNT = re.compile(
    r"[#\u2139] (tests|suites|pass|fail|cancelled|skipped|skip|todo|duration_ms)"
    r" +([0-9]{1,9})(?:\..*)?"
)
_TOTALS = re.compile(r"# \{ (total: [0-9]{1,9}(?:, [a-z]{1,10}: [0-9]{1,9}){0,9}) \}")
_SPEC_FAILED = re.compile(r"✖ (.+) \([0-9.]{1,20}ms\)(?: #.*)?")
_DIRECTIVE = re.compile(r" # *(skip|todo)\b", re.IGNORECASE)
_TIME = re.compile(r" # time=[0-9.]{1,20}ms")
_SPEC_FAILURES = "✖ failing tests:"
_NOTHING = "No test files found"


class _Stream:
    """One TAP stream: what it planned, and what came."""

    def __init__(self) -> None:
        self.plan: int | None = None
        self.passed = self.failed = self.skipped = 0
        self.failures: list[tuple[int, str]] = []
        """How deep each one stands, and its name."""

    def result(self, match: re.Match[str]) -> None:
        text = match[4] or ""
        directive = _DIRECTIVE.search(text)
        if match[2] and not directive:
            name = _TIME.sub("", text).replace("\\#", "#") or f"test {match[3]}"
            self._blame(len(match[1]), name)
        if match[1]:
            return  # of a subtest: its parent counts
        if directive:
            self.skipped += 1
        elif match[2]:
            self.failed += 1
        else:
            self.passed += 1

    def _blame(self, depth: int, name: str) -> None:
        """Remembers a failure; one whose subtests failed gives them its name instead."""
        children = False
        for at, (deeper, child) in enumerate(self.failures):
            if deeper > depth:
                self.failures[at] = (depth, f"{name} > {child}"[:LONGEST_NAME])
                children = True
        if not children and len(self.failures) < MOST_NAMES:
            self.failures.append((depth, name))

    def closed(self, counts: dict[str, int] | None) -> TestReport | None:
        names = [name for _, name in self.failures]
        if counts is not None:
            failed = counts.get("fail", 0) + counts.get("cancelled", 0)
            return report(
                "node" if "duration_ms" in counts else "tap",
                ran=counts.get("pass", 0) + failed,
                skipped=counts.get("skipped", 0) + counts.get("skip", 0) + counts.get("todo", 0),
                failed=names,
                failed_count=failed,
            )
        if self.plan is None:
            return None
        came = self.passed + self.failed + self.skipped
        missing = self.plan - came
        lost = [f"{missing} of {self.plan} planned tests did not run"] if missing > 0 else []
        return report(
            "tap",
            ran=self.passed + self.failed,
            skipped=self.skipped,
            failed=names + lost,
            failed_count=self.failed + len(lost),
        )


def tap_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every TAP stream; one with fewer results than it planned has failed."""
    stream, counts = _Stream(), dict[str, int]()
    late_plan = False
    for line in lines:
        count = _COUNT.fullmatch(line)
        if counts and (not count or count[1] in counts):
            yield from _some(stream.closed(counts))
            late_plan = stream.plan is None
            stream, counts = _Stream(), {}
        if count:
            if counts or count[1] == "tests":
                counts[count[1]] = int(count[2])
        elif totals := _TOTALS.fullmatch(line):
            yield from _some(stream.closed(_totals(totals[1])))
            stream = _Stream()
        elif line == CUT_LINE:
            stream = _Stream()
        elif line == _NOTHING:
            yield report("tap", ran=0)
        elif result := _RESULT.fullmatch(line):
            stream.result(result)
        elif plan := _PLAN.fullmatch(line):
            if late_plan:  # mocha writes its plan after its counts
                late_plan = False
                continue
            if stream.plan is not None:
                yield from _some(stream.closed(None))
                stream = _Stream()
            stream.plan = int(plan[1])
        elif _VERSION.fullmatch(line):
            yield from _some(stream.closed(None))
            stream, late_plan = _Stream(), False
    yield from _some(stream.closed(counts or None))


def with_spec_names(lines: Sequence[str], runs: Sequence[TestReport]) -> list[TestReport]:
    """Node's runs with the failures that its spec reporter lists after the counts."""
    names = list[str]()
    if _SPEC_FAILURES in lines:
        after = lines[lines.index(_SPEC_FAILURES) + 1 :]
        names = [found[1] for line in after if (found := _SPEC_FAILED.fullmatch(line))]
    return [
        report(
            run.runner,
            ran=run.ran,
            skipped=run.skipped,
            failed=run.failed or names,
            failed_count=run.failed_count,
        )
        if run.runner == "node" and run.failed_count
        else run
        for run in runs
    ]


def node_and_tap_runs(lines: Sequence[str]) -> Iterator[TestReport]:
    """Every TAP stream, and every summary of `node --test`, with the failures' names."""
    yield from with_spec_names(lines, list(tap_runs(lines)))


def _totals(text: str) -> dict[str, int]:
    return {word: int(number) for word, _, number in (p.partition(": ") for p in text.split(", "))}


def _some(found: TestReport | None) -> Iterator[TestReport]:
    if found is not None:
        yield found
