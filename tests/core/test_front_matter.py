"""Front matter: read strictly, with the file and the line of what cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core import front_matter
from windlass.core.errors import ConfigError

KEYS: dict[str, type[str | bool]] = {"description": str, "spawns": bool}
WORDS = st.text(st.characters(blacklist_categories=["Cc", "Cs", "Zl", "Zp"])).map(str.strip)


def read(text: str) -> front_matter.Document:
    return front_matter.read(text, origin="here.md", keys=KEYS)


@given(WORDS, st.booleans(), st.text(), st.sampled_from(["\n", "\r\n"]))
def test_what_is_written_down_is_read_back(said: str, flag: bool, body: str, end: str) -> None:
    lines = ["---", f"description: {said}", "", f"spawns: {str(flag).lower()}", "---", ""]
    about, rest = read(end.join(lines) + body)
    assert about == {"description": said, "spawns": flag}
    assert rest == body


@given(st.text() | st.lists(st.sampled_from(["---", "spawns: true", "a", ""])).map("\n".join))
def test_any_text_is_read_or_refused_with_its_place(text: str) -> None:
    refused: list[ConfigError] = []
    try:
        assert text.endswith(read(text).body)
    except ConfigError as error:
        refused.append(error)
    assert all(error.message.startswith("here.md:") and error.hint for error in refused)


@pytest.mark.parametrize(
    "text",
    ["", "a\n---\nb\n---\nc", "--- a\n---\n", "----\na\n----\n", " ---\nspawns: true\n---\n"],
)
def test_lines_that_only_look_like_front_matter_are_the_text(text: str) -> None:
    assert read(text) == ({}, text)


def test_a_byte_order_mark_hides_nothing() -> None:
    assert read("\ufeff---\nspawns: true\n---\nx") == ({"spawns": True}, "x")


@pytest.mark.parametrize(
    ("lines", "place", "said"),
    [
        ("spawn: true", 2, "unknown key 'spawn'"),
        ("description: a\nowner: me", 3, "unknown key 'owner'"),
        ("spawns: yes", 2, "spawns is 'yes'"),
        ("spawns:", 2, "spawns is ''"),
        ("spawns: True", 2, "spawns is 'True'"),
        ("\nspawns: true\nspawns: false", 4, "'spawns' stands there twice"),
        ("- spawns", 2, "'- spawns' is no `key: value`"),
        ("spawns:true", 2, "'spawns:true' is no `key: value`"),
        ("description: a\n  and more", 3, "'and more' is no `key: value`"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_line(lines: str, place: int, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read(f"---\n{lines}\n---\nbody")
    assert refused.value.message == f"here.md:{place}: {said}"
    assert refused.value.hint


def test_front_matter_that_ends_nowhere_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"here\.md:1: .* end nowhere"):
        read("---\nspawns: false\n")
