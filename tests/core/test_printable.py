from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.printable import keep_colour, printable, printable_line, without_escapes

TRICKS = {
    "clipboard": ("a\x1b]52;c;aGk=\x07b", "ab"),
    "title": ("a\x1b]0;owned\x1b\\b", "ab"),
    "title cut off": ("a\x1b]0;owned\nb", "a\nb"),
    "cursor": ("a\x1b[2J\x1b[1;1Hb", "ab"),
    "private mode": ("a\x1b[?1049hb", "ab"),
    "device control": ("a\x1bPq#1~\x1b\\b", "ab"),
    "eight-bit": ("a\x9b31mb\x9d0;t\x9cc", "abc"),
    "character set": ("a\x1b(0b", "ab"),
    "lone escape": ("a\x1b", "a"),
    "nested": ("a\x1b\x1b[31m[31mb", "a[31mb"),
    "carriage return": ("good\rbad", "goodbad"),
    "backspaces": ("bad\x08\x08\x08ok", "badok"),
    "direction": ("a\u202eb\u2066c", "abc"),
    "nothing": ("one\n\ttwo ✅ 👩‍👧 漢字", "one\n\ttwo ✅ 👩‍👧 漢字"),
}


@pytest.mark.parametrize(("text", "left"), TRICKS.values(), ids=TRICKS.keys())
def test_only_text_is_left(text: str, left: str) -> None:
    assert without_escapes(text) == left


def test_control_characters_are_shown_not_hidden() -> None:
    assert printable("a\x1b[31mb\r\u202e\n\tc\ud800") == "a\\x1b[31mb\\r\\u202e\n\tc\\ud800"
    assert printable("\x00\x7f\x9b\U000e0041") == "\\x00\\x7f\\x9b\\U000e0041"


def test_a_line_stays_one_line() -> None:
    assert printable_line("a\nb\tc\u2028d") == "a\\nb\\tc\\u2028d"


def test_colours_are_kept_and_end_with_the_text() -> None:
    assert keep_colour("\x1b[1;31mred") == "\x1b[1;31mred\x1b[0m"
    assert keep_colour("\x1b[38:2::1:2:3mx\x1b[0m") == "\x1b[38:2::1:2:3mx\x1b[0m"
    assert keep_colour("plain\x1b[2J") == "plain"
    assert keep_colour("a\x1b]52;c;x\x07\x1b[31mb\x1b[?25l\x07") == "a\x1b[31mb\x1b[0m"
    assert keep_colour("\x1b[>4;1mx\x1b[?1mx") == "xx"
    assert keep_colour("a\x1b[8mb\x1b[31;08mc") == "ab\x1b[31mc\x1b[0m", "nothing is concealed"
    assert keep_colour("\x1b[38;5;8mx\x1b[48;2;8;8;8my") == "\x1b[38;5;8mx\x1b[48;2;8;8;8my\x1b[0m"


@given(st.text(alphabet=st.sampled_from("\x1b[]0;m31P\\\x07\x9b\x9c\n?h a\u202e")))
def test_no_escape_survives_whatever_the_text(text: str) -> None:
    for left in (without_escapes(text), printable(text), printable_line(text)):
        assert not [c for c in left if unicodedata.category(c) == "Cc" and c not in "\n\t"]
    rest = keep_colour(text)
    for piece in rest.split("\x1b")[1:]:
        assert piece.startswith("[")
        assert piece.lstrip("[").lstrip("0123456789;:").startswith("m")


@given(st.text())
def test_what_is_safe_stays_safe(text: str) -> None:
    once = without_escapes(text)
    assert without_escapes(once) == once
    assert printable(printable(text)) == printable(text)
