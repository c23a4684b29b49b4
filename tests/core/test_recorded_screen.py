"""What is shown of a record is what a terminal showed, whatever was drawn over before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from windlass.core.recorded_screen import shown

COLUMNS, LINES = 20, 6


def test_colours_are_those_of_what_is_left() -> None:
    record = "\x1b[1;31mold\x1b[0m\r\x1b[K\x1b[32mgreen\x1b[0m, not"
    assert shown(record, columns=40, lines=5) == ["\x1b[0m\x1b[32mgreen\x1b[0m, not"]


def test_what_scrolled_away_comes_first() -> None:
    record = "\r\n".join(str(number) for number in range(100))
    assert shown(record, columns=40, lines=5) == [str(number) for number in range(100)]


@given(st.text(st.sampled_from("ab漢\u0301\r\n\b\t\x1b[;?0123456789ABCDEFGHJKLMPSX@dhlmsu78Mc")))
def test_no_record_is_too_odd(record: str) -> None:
    assert all(len(line) < 10_000 for line in shown(record, columns=COLUMNS, lines=LINES))


def test_a_record_that_scrolls_for_ever_is_cut() -> None:
    assert len(shown("\x1b[999999S" * 20_000 + "end", columns=80, lines=40)) <= 20_100
