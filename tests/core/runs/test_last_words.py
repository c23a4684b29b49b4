"""What a step's last message says."""

from __future__ import annotations

import time

import pytest

from windlass.core.runs import last_words


@pytest.mark.parametrize(
    ("said", "report"),
    [
        ("a <report> one </report> b <report>\ntwo\n</report> c", "two"),
        ("<report>one</report> and <report> that has no end", "one"),
        ("</report> <report>one</report> </report>", "one"),
        ("<report>one <report>two</report>", "one <report>two"),
        ("<report></report>", ""),
        ("all is well <result>PASS</result>", "all is well"),
        ("<report> that has no end <result>PASS</result>", "<report> that has no end"),
    ],
)
def test_a_report_is_what_is_between_the_last_pair_of_marks(said: str, report: str) -> None:
    assert last_words.report(said) == report


@pytest.mark.parametrize("mark", ["<report>", "</report>", "<result>", "<result>PASS", "DONE\n"])
def test_a_message_of_nothing_but_marks_stops_nobody(mark: str) -> None:
    """Patterns that go back hold the interpreter: such a message took them tens of seconds."""
    said = mark * (256 * 1024 // len(mark))
    began = time.thread_time()
    last_words.report(said)
    last_words.result(said)
    last_words.is_done(said)
    assert time.thread_time() - began < 1
