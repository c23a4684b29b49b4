"""JUnit files: which tests ran and which failed.

Pure. Counted from the test cases themselves: the attributes that sum them up are the writer's word.
The files are written by code under test, so that nothing in them may cost more than reading them:
no document types, no entities, bounded size, depth and number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.parsers import expat

from windlass.core.gate.tally import MOST_NAMES, TestReport, report

LARGEST = 64 * 1024 * 1024
"""Bytes of all documents together."""
DEEPEST = 100
LONGEST_TAG = 256 * 1024
"""Bytes of one tag, or of whatever else is read as a whole: two million attributes of one tag take
the parser many seconds, in which it lets nobody else of this process run."""
_PART = 64 * 1024
_SUITES = ("testsuites", "testsuite")
_NAMES = re.compile(r"[\w.$]+(?:[\[(].*)?", re.DOTALL)
_FAILED = ("failure", "error")
_NOT_RUN = ("notrun", "disabled", "skipped")
_SKIPPED = ("skipped", "disabled", "ignored")


class NotJUnit(ValueError):
    """A document is no JUnit, or none that is read here; the message is a sentence for people."""


def read_junit(documents: Iterable[bytes]) -> TestReport:
    """All test cases of some documents. A suite's own error is a failure called by the suite."""
    cases = _Cases()
    left = LARGEST
    for number, document in enumerate(documents, 1):
        left -= len(document)
        if left < 0:
            raise NotJUnit(
                f"the JUnit files are larger than {LARGEST // 1024 // 1024} MiB together"
            )
        try:
            _Document(cases).read(document)
        except expat.ExpatError as error:
            raise NotJUnit(f"JUnit file {number} is no XML that can be read: {error}") from error
        except NotJUnit as error:
            raise NotJUnit(f"JUnit file {number} {error}") from error
    return report(
        "junit",
        ran=cases.ran,
        skipped=cases.skipped,
        failed=cases.names,
        failed_count=cases.failed,
    )


class _Cases:
    def __init__(self) -> None:
        self.ran = self.skipped = self.failed = 0
        self.names: list[str] = []

    def add_failure(self, name: str) -> None:
        self.failed += 1
        if len(self.names) < MOST_NAMES:
            self.names.append(name)


class _Document:
    """One document on its way through the parser; only what is open is remembered."""

    def __init__(self, cases: _Cases) -> None:
        self._cases = cases
        self._open: list[str] = []
        self._suites: list[str] = []
        self._case = ""
        self._failed = self._skipped = False

    def read(self, document: bytes) -> None:
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = _refuse_doctype
        parser.EntityDeclHandler = _refuse_doctype
        try:
            _feed(parser, document)
        except (UnicodeError, LookupError) as error:
            raise NotJUnit("is in an encoding that cannot be read") from error

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if not self._open and tag not in _SUITES:
            raise NotJUnit("is no JUnit: it begins with neither testsuites nor testsuite")
        parent = self._open[-1] if self._open else ""
        self._open.append(tag)
        if len(self._open) > DEEPEST:
            raise NotJUnit(f"is nested more than {DEEPEST} deep")
        if tag == "testsuite":
            self._suites.append(attributes.get("name", ""))
        elif tag == "testcase" and parent in _SUITES:
            self._case = _case_name(attributes)
            # GoogleTest and CTest say in an attribute what did not run.
            self._failed, self._skipped = False, attributes.get("status") in _NOT_RUN
        elif parent == "testcase":
            self._failed = self._failed or tag in _FAILED
            self._skipped = self._skipped or tag in _SKIPPED
        elif parent == "testsuite" and tag in _FAILED:
            self._cases.add_failure(self._suites[-1] or "a suite without a name")

    def _end(self, tag: str) -> None:
        self._open.pop()
        parent = self._open[-1] if self._open else ""
        if tag == "testsuite":
            self._suites.pop()
        elif tag == "testcase" and parent in _SUITES:
            if self._failed:
                self._cases.ran += 1
                self._cases.add_failure(self._case)
            elif self._skipped:
                self._cases.skipped += 1
            else:
                self._cases.ran += 1


def _feed(parser: expat.XMLParserType, document: bytes) -> None:
    """Parses part by part, and refuses what is no end of in what has not been taken yet."""
    taken = 0
    for begin in range(0, len(document), _PART):
        parser.Parse(document[begin : begin + _PART], False)  # noqa: FBT003 - by place only
        # -1 where the parser waits for more before it looks at what it has.
        taken = max(taken, parser.CurrentByteIndex)
        if begin + _PART - taken > LONGEST_TAG:
            raise NotJUnit(f"has a tag of more than {LONGEST_TAG // 1024} KiB")
    parser.Parse(b"", True)  # noqa: FBT003 - by place only


def _case_name(attributes: dict[str, str]) -> str:
    """`demo.ATest.adds` where both are names, else the words side by side."""
    name, place = attributes.get("name", ""), attributes.get("classname", "")
    if not place or name.startswith(place):
        return name or "a test without a name"
    return f"{place}.{name}" if _NAMES.fullmatch(f"{place}.{name}") else f"{place} {name}"


def _refuse_doctype(*_: object) -> None:
    raise NotJUnit("has a document type or entities, which are not read")
