"""What programs print on a person's terminal through us: drawing passes, nothing else does."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.terminal_filter import TerminalFilter

DROPPED = {
    "clipboard": (b"a\x1b]52;c;aGk=\x07b", b"ab"),
    "clipboard past tmux": (b"a\x1bPtmux;\x1b\x1b]52;c;eA==\x07\x1b\\b", b"ab"),
    "title": (b"a\x1b]0;owned\x1b\\b", b"ab"),
    "link": (b"\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\", b"click"),
    "string without end": (b"a\x1b]0;owned\nb", b"a\nb"),
    "APC, PM, SOS": (b"\x1b_a\x1b\\\x1b^b\x1b\\\x1bXc\x1b\\d", b"d"),
    "other screen": (b"a\x1b[?1049hb\x1b[?1049l", b"ab"),
    "mouse and paste modes": (b"\x1b[?1000h\x1b[?2004h\x1b[4hx", b"x"),
    "questions": (b"\x1b[c\x1b[6n\x1b[>q\x1b[18t\x05x", b"x"),
    "concealed": (b"a\x1b[8mb\x1b[28m", b"ab\x1b[28m"),
    "concealed among colours": (b"\x1b[31;8;1mb", b"\x1b[31;1mb"),
    "concealed behind half a colour": (b"\x1b[38;8mb\x1b[38;2;1;8mc", b"bc"),
    "keyboard": (b"\x1b[>4;1m\x1b[=1u\x1b=x", b"x"),
    "character set": (b"\x1b(0x\x0e", b"x"),
    "reset": (b"\x1bc\x1b[!px", b"x"),
    "eight-bit": (b"\xc2\x9b8mx\xc2\x9d0;t\xc2\x9cy\x9b?1049hz", b"xyz"),
}
PASSED = {
    "text": "one\r\n\ttwo ✅ 👩‍👧 漢字\x07\x08".encode(),
    "bytes": b"caf\xe9",
    "colours": b"\x1b[1;31mred\x1b[0m \x1b[38;5;8mgrey\x1b[38;2;8;8;8m\x1b[48:5:8m\x1b[m",
    "progress": b"10%\r\x1b[2K20%\x1b[1A\x1b[0J\x1b[3G\x1b[2;1H\x1b[J",
}


def filtered(data: bytes, size: int) -> bytes:
    """What comes out if so many bytes go in at a time."""
    screen = TerminalFilter()
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    return b"".join(map(screen.feed, pieces)) + screen.feed(b"", last=True)


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(("data", "left"), DROPPED.values(), ids=DROPPED.keys())
def test_what_is_no_drawing_is_dropped_in_whatever_pieces_it_comes(
    data: bytes, left: bytes, size: int
) -> None:
    assert filtered(data, size) == left


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize("data", PASSED.values(), ids=PASSED.keys())
def test_text_colours_and_progress_bars_pass(data: bytes, size: int) -> None:
    assert filtered(data, size) == data


def test_a_string_of_any_length_is_dropped_and_not_kept() -> None:
    screen = TerminalFilter()
    assert screen.feed(b"\x1b]52;c;") == b""
    for _ in range(100):
        assert screen.feed(b"A" * 10_000) == b""
    assert len(screen._begun) < 10  # noqa: SLF001 - what it costs
    assert screen.feed(b"\x07text") == b"text"


_PIECES = st.sampled_from(
    [
        *b"\x1b[]0;m318P\\\x07\x9b\x9c\x9d\n?h a_^X",
        b"\x1b[",
        b"\x1b]52;",
        b"\xc2\x9b",
        b"8m",
        b"38;",
    ]
)


@given(st.lists(_PIECES), st.integers(1, 5))
def test_nothing_but_drawing_comes_through_whatever_goes_in(
    pieces: list[int | bytes], size: int
) -> None:
    data = b"".join(bytes([piece]) if isinstance(piece, int) else piece for piece in pieces)
    left = filtered(data, size).decode(errors="surrogateescape")
    rest = re.sub(r"\x1b\[[0-9;]*[ABCDEFGHJKf]|\x1b\[[0-9;:]*m", "", left)
    assert not re.search(r"[\x00-\x06\x0b\x0c\x0e-\x1f\x7f-\x9f\udc80-\udc9f]", rest)
    for words in re.findall(r"\x1b\[([0-9;:]*)m", left):
        colours = re.sub(r"(?<![0-9])0*[345]8;0*(5;\d*|2;\d*;\d*;\d*)", "", words)
        assert "8" not in [word.lstrip("0") for word in colours.split(";")]
