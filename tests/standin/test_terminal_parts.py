from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.standin.draft import Draft
from windlass.standin.keys import Decoder, Key
from windlass.standin.permissions import PermissionRules, Verdict, decide
from windlass.standin.screen import clean, cut, width, wrap


def keys(data: bytes) -> list[Key]:
    return Decoder().feed(data)


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (b"a\r", ["text", "enter"]),
        (b"\x1b[A\x1b[B", ["up", "down"]),
        (b"\x1b[1;5C", []),
        (b"\x1b\x1b[A", ["escape", "up"]),
        (b"\x03\x04\x7f", ["ctrl-c", "ctrl-d", "backspace"]),
        (b"\x1b[200~a\rb\x1b[201~\r", ["paste", "enter"]),
        (b"\x00\x01", []),
        (b"\xff\xfe\xfd\xfc a", ["text"]),
    ],
)
def test_bytes_become_keys(data: bytes, names: list[str]) -> None:
    assert [key.name for key in keys(data)] == names


def test_a_lone_escape_is_a_key_once_nothing_follows() -> None:
    decoder = Decoder()
    assert decoder.feed(b"\x1b") == []
    assert decoder.escaping
    assert decoder.flush() == [Key("escape")]
    assert not decoder.escaping


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1), st.data())
def test_typed_text_survives_any_split_of_its_bytes(words: str, data: st.DataObject) -> None:
    raw = words.encode()
    decoder, typed, start = Decoder(), "", 0
    while start < len(raw):
        size = data.draw(st.integers(1, len(raw) - start))
        typed += "".join(key.text for key in decoder.feed(raw[start : start + size]))
        start += size
    assert typed == words


@given(st.binary(max_size=200), st.integers(1, 7))
def test_no_bytes_upset_the_decoder_or_get_stuck(data: bytes, size: int) -> None:
    decoder = Decoder()
    for start in range(0, len(data), size):
        decoder.feed(data[start : start + size])
    decoder.feed(b"\x1b[201~")
    decoder.feed(b"zzzz\r")
    decoder.flush()
    assert [key.name for key in decoder.feed(b"ok\r")][-1:] == ["enter"]


def test_a_draft_puts_pastes_back_where_they_stood() -> None:
    draft = Draft()
    draft.type("see ")
    draft.paste("a\nb\nc\nd")
    draft.type(" and ")
    draft.paste("e\nf\ng\nh\ni")
    assert draft.text == "see [Pasted text #1 +3 lines] and [Pasted text #2 +4 lines]"
    message = draft.take()
    assert message
    assert message.text == "see a\nb\nc\nd and e\nf\ng\nh\ni"
    assert draft.take() is None


def test_backspace_takes_a_placeholder_whole() -> None:
    draft = Draft()
    draft.paste("a\nb\nc\nd")
    draft.edit("backspace")
    assert draft.text == ""


@given(st.text(), st.integers(8, 40))
def test_wrapped_lines_fit_and_lose_no_word(words: str, columns: int) -> None:
    lines = wrap(words, columns, "  ")
    assert all(width(line) <= columns for line in lines)
    squeezed = "".join("".join(lines).split())
    assert squeezed == "".join(clean(words).split())


@given(st.text(), st.integers(2, 30))
def test_a_cut_line_fits(words: str, columns: int) -> None:
    assert width(cut(clean(words).replace("\n", " "), columns)) <= columns


@given(st.text())
def test_cleaned_text_holds_no_control_characters(words: str) -> None:
    assert not [char for char in clean(words) if ord(char) < 32 and char != "\n"]


@pytest.mark.parametrize(
    ("rules", "tool", "given_input", "verdict"),
    [
        (PermissionRules(), "Read", {}, "allow"),
        (PermissionRules(), "Write", {"file_path": "/w/a"}, "ask"),
        (PermissionRules("acceptEdits"), "Edit", {"file_path": "/w/a"}, "allow"),
        (PermissionRules("acceptEdits"), "Bash", {"command": "ls"}, "ask"),
        (PermissionRules("dontAsk"), "Bash", {"command": "ls"}, "deny"),
        (PermissionRules("bypassPermissions"), "Bash", {"command": "ls"}, "allow"),
        (
            PermissionRules("bypassPermissions", deny=["Bash(rm:*)"]),
            "Bash",
            {"command": "rm x"},
            "deny",
        ),
        (PermissionRules(allow=["Bash(git log:*)"]), "Bash", {"command": "git log -1"}, "allow"),
        (PermissionRules(allow=["Bash(git log:*)"]), "Bash", {"command": "git logout"}, "ask"),
        (PermissionRules(allow=["Bash(ls *)"]), "Bash", {"command": "ls -l"}, "allow"),
        (PermissionRules(allow=["Bash(ls:*)"]), "Bash", {"command": "ls && rm x"}, "ask"),
        (PermissionRules(allow=["Bash(ls:*)"]), "Bash", {"command": "ls `rm x`"}, "ask"),
        (PermissionRules(allow=["Bash"]), "Bash", {"command": "ls `rm x`"}, "allow"),
        (
            PermissionRules(deny=["Bash(rm:*)"], allow=["Bash"]),
            "Bash",
            {"command": "ls; rm x"},
            "deny",
        ),
        (PermissionRules(allow=["Write(src/*)"]), "Write", {"file_path": "/w/src/a"}, "allow"),
        (PermissionRules(allow=["Write(src/*)"]), "Write", {"file_path": "/w/doc/a"}, "ask"),
        (PermissionRules(ask=["Read"]), "Read", {}, "ask"),
    ],
)
def test_rules_and_modes_decide(
    rules: PermissionRules, tool: str, given_input: dict[str, str], verdict: Verdict
) -> None:
    assert decide(rules, tool, given_input) == verdict
