from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.gate import junit
from windlass.core.gate.junit import DEEPEST, LONGEST_TAG, NotJUnit, read_junit

OUTPUTS = Path(__file__).parent / "outputs"
EXPECTED = {
    name: row
    for name, row in json.loads((OUTPUTS / "expected.json").read_text("utf-8")).items()
    if name.endswith(".xml")
}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_what_real_runners_wrote_is_read(name: str) -> None:
    report = read_junit([(OUTPUTS / name).read_bytes()])
    assert [
        report.runner,
        report.ran,
        report.skipped,
        report.failed_count,
        list(report.failed),
    ] == EXPECTED[name]


def test_several_files_and_nested_suites_are_added_up() -> None:
    nested = b"""<testsuites><testsuite name="a"><testsuite name="b">
        <testcase classname="T" name="x"/><testcase name="y"><skipped/></testcase>
        </testsuite></testsuite></testsuites>"""
    report = read_junit([nested, nested])
    assert (report.ran, report.skipped, report.failed_count) == (2, 2, 0)


def test_cases_are_counted_whatever_the_attributes_say() -> None:
    report = read_junit([b'<testsuite tests="900" failures="0"/>'])
    assert report.ran == 0
    lying = (
        b'<testsuite tests="1" failures="0"><testcase name="x"><failure/></testcase></testsuite>'
    )
    assert read_junit([lying]).failed == ("x",)


def test_words_of_a_test_that_look_like_elements_count_for_nothing() -> None:
    quoted = b"""<testsuite><testcase name="x"><system-out><failure/><testcase/></system-out>
        </testcase></testsuite>"""
    report = read_junit([quoted])
    assert (report.ran, report.failed_count) == (1, 0)


def test_an_error_of_a_suite_is_a_failure() -> None:
    report = read_junit([b'<testsuite name="s"><error message="x"/></testsuite>'])
    assert (report.ran, report.failed) == (0, ("s",))


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (b"", "no XML"),
        (b"<testsuite>", "no XML"),
        (b"3 passed", "no XML"),
        (b"<html/>", "no JUnit"),
        (b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><testsuite/>', "document type"),
        (b'<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><testsuite/>', "document type"),
        (b"<testsuite>" * (DEEPEST + 1), "deep"),
        (b'<?xml version="1.0" encoding="no-such"?><testsuite/>', "JUnit file 1"),
    ],
)
def test_what_is_no_junit_is_refused_with_a_sentence(document: bytes, words: str) -> None:
    with pytest.raises(NotJUnit, match=words):
        read_junit([document])


def test_a_tag_without_an_end_is_refused_before_it_is_read_as_a_whole() -> None:
    many = b" ".join(b'a%d=""' % number for number in range(LONGEST_TAG // 4))
    with pytest.raises(NotJUnit, match="a tag of more than 256 KiB"):
        read_junit([b"<testsuite " + many + b"/>"])


def test_long_texts_and_many_tests_are_read_part_by_part() -> None:
    said = b"<system-out>" + b"says\n" * LONGEST_TAG + b"</system-out>"
    case = b'<testcase classname="T" name="x" message="' + b"y" * (LONGEST_TAG // 4) + b'"/>'
    report = read_junit([b"<testsuite>" + said + case * 10 + b"</testsuite>"])
    assert (report.ran, report.failed_count) == (10, 0)


def test_files_that_are_too_large_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(junit, "LARGEST", 30)
    with pytest.raises(NotJUnit, match="larger"):
        read_junit([b"<testsuite></testsuite>"] * 2)


@given(
    st.binary()
    | st.lists(
        st.sampled_from(
            [
                "<testsuite>",
                "</testsuite>",
                "<testcase>",
                "<error/>",
                "</testcase>",
                "<skipped/>",
                "x",
                "&amp;",
                "<!DOCTYPE a>",
            ]
        )
    ).map(lambda p: "".join(p).encode())
)
def test_any_bytes_are_read_or_refused(document: bytes) -> None:
    try:
        report = read_junit([document])
    except NotJUnit as refusal:
        assert str(refusal)  # noqa: PT017 - either way is fine, anything else is not
    else:
        assert report.ran >= 0
