"""What captured screens show: real ones, ones made by hand, and any text at all."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from windlass.core.claude import screen
from windlass.core.claude.screen import read
from windlass.core.states import State

SCREENS = Path(__file__).parent / "screens"
EXPECTED: dict[str, dict[str, Any]] = json.loads((SCREENS / "expected.json").read_text())
FIELDS = ("state", "rule", "dialog", "draft", "queued", "retry_after")

ANY = st.text(
    alphabet=st.one_of(
        st.sampled_from("\u276f>●⏺✻·…─│╭╰╮╯⎿ \n\t\r\x00\x1b[m01.()WAITING"),
        st.characters(),
    ),
    max_size=400,
)
QUOTES = (
    "  esc to interrupt · ← for agents",
    "✻ Scurrying… (3s · thinking)",
    "● I HAVE COMPLETED THE GOAL",
    "I HAVE COMPLETED THE GOAL",
    "WAITING",
    " Do you want to proceed?",
    " \u276f 1. Yes",
    "   2. No",
    "\u276f ",
    "\u276f when done, say I HAVE COMPLETED THE GOAL",
    "─" * 60,
    "  ? for shortcuts",
    "Resume this session with:",
    "user@host:~$ ",
    "✻ API error · Retrying in 18s · attempt 1/10",
    "✻ Compacting conversation…",
    "● You've hit your limit · resets 3pm",
    "╭──────╮",
    "│ >    │",
    "╰──────╯",
    "  ⎿  Running…",
    "  Showing detailed transcript · ctrl+o to toggle",
    "",
)
SCROLLBACK = st.lists(st.one_of(st.sampled_from(QUOTES), st.text(max_size=40)), max_size=12)
WHOLE = sorted(
    name
    for name in EXPECTED
    if re.match(r"captures/(02|03|20|26|28|33|41|70|72|73)", name)
    or (name.startswith("captures/") and (SCREENS / name).read_text().startswith("╭─── Claude"))
)
"""Captures that begin with the banner or end in a dialog or a live turn: nothing above matters."""


def text_of(name: str) -> str:
    return (SCREENS / name).read_bytes().decode(errors="replace")


@pytest.mark.parametrize("name", EXPECTED)
def test_a_screen_is_judged_as_a_person_would_judge_it(name: str) -> None:
    seen = msgspec.to_builtins(read(text_of(name)))
    wanted = EXPECTED[name]
    assert {key: seen[key] for key in wanted} == wanted


def test_every_screen_on_file_is_expected_to_show_something() -> None:
    found = {
        f"{folder.name}/{file.name}"
        for folder in SCREENS.iterdir()
        if folder.is_dir()
        for file in folder.iterdir()
    }
    assert found == set(EXPECTED)


def test_rule_names_are_kebab_case_and_listed_in_the_docs() -> None:
    page = (Path(__file__).parents[3] / "docs" / "screens.md").read_text()
    for name in EXPECTED:
        rule = read(text_of(name)).rule
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule)
        assert f"`{rule}`" in page


@given(ANY)
def test_no_text_is_too_odd_to_be_read(text: str) -> None:
    seen = read(text)
    assert isinstance(seen.state, State)
    assert seen.rule
    assert "\n" not in seen.evidence


@given(st.binary(max_size=400))
def test_no_bytes_are_too_odd_to_be_read(data: bytes) -> None:
    assert isinstance(read(data.decode(errors="replace")).state, State)
    assert isinstance(read(data.decode(errors="surrogateescape")).state, State)


@given(
    st.sampled_from(sorted(EXPECTED)), st.lists(st.sampled_from(["", " ", "\x1b[0m"]), max_size=60)
)
def test_blank_lines_at_the_end_change_nothing(name: str, blanks: list[str]) -> None:
    text = text_of(name)
    assert read(text.rstrip("\n") + "\n" + "\n".join(blanks)) == read(text)


def test_a_colour_within_the_end_of_a_line_makes_no_second_line() -> None:
    text = text_of("made/running-crlf-tabs-nul.txt")
    assert "\r\n" in text
    assert read(text.replace("\r\n", "\r\x1b[31m\n")) == read(text)


@given(st.sampled_from(sorted(EXPECTED)), st.data())
def test_colours_change_nothing(name: str, data: st.DataObject) -> None:
    text = text_of(name)
    colours = st.sampled_from(["\x1b[31m", "\x1b[0m", "\x1b[38;5;174m", "\x1b[1m", "\x1b[39;49m"])
    places = data.draw(st.lists(st.tuples(st.integers(0, len(text)), colours), max_size=20))
    painted = text
    for at, colour in sorted(places, reverse=True):
        inside = re.search(r"\x1b(\[[0-9;]*)?$", text[:at])  # a sequence is not to be cut in two
        if inside is None:
            painted = painted[:at] + colour + painted[at:]
    assert read(painted) == read(text)


@given(st.sampled_from(WHOLE), SCROLLBACK)
def test_nothing_above_a_whole_screen_matters(name: str, above: list[str]) -> None:
    text = text_of(name)
    over = "".join(f"{line}\n" for line in above)
    assert read(over + text).state == read(text).state
    assert read(over + text).rule == read(text).rule


@pytest.mark.parametrize("name", WHOLE)
def test_windows_line_ends_change_nothing(name: str) -> None:
    text = text_of(name)
    assert read(text.replace("\n", "\r\n")) == read(text)


@pytest.mark.parametrize(
    "filler",
    [
        "x" * 999 + "\n",
        "\x1b[" * 500 + "\n",
        "● a(" * 250,
        "─" * 1000,
        " \n" * 500,
        "1. " * 400,
        " " * 999 + "x",
    ],
)
def test_of_ten_megabytes_only_the_end_counts(filler: str) -> None:
    screen_now = text_of("captures/21-running-bash-tool.txt")
    text = filler * (10_000_000 // len(filler)) + "\n" + screen_now
    assert read(text).state is State.RUNNING


@pytest.mark.parametrize(
    ("text", "draft"),
    [
        ("\u276f \x1b[7mf\x1b[0m\x1b[2mix the tests\x1b[0m", ""),
        ("\u276f \x1b[2mfix the tests\x1b[22m", ""),
        ("\u276f fix \x1b[2mthe tests\x1b[0m", "fix the tests"),
        ("\u276f \x1b[38;5;2mfix\x1b[39m", "fix"),
    ],
)
def test_what_is_drawn_faintly_is_no_draft(text: str, draft: str) -> None:
    rule = "─" * 40
    assert read(f"● ok\n\n{rule}\n{text}\n{rule}\n  ? for shortcuts\n").draft == draft


def test_a_screen_without_a_box_has_no_draft() -> None:
    assert read(text_of("captures/02-trust-dialog.txt")).draft is None
    assert read(text_of("captures/05-idle-preseeded.txt")).draft == ""


@pytest.mark.parametrize("columns", [12, 16, 24, 40, 80, 200])
def test_the_goal_is_seen_however_narrow_the_terminal(columns: int) -> None:
    import textwrap  # noqa: PLC0415 - only here

    said = textwrap.wrap("It is all done. I HAVE COMPLETED THE GOAL", columns - 2)
    rule = "─" * columns
    body = "● " + "\n  ".join(said)
    text = f"\u276f go\n\n{body}\n\n{rule}\n\u276f \n{rule}\n  ? for shortcuts\n"
    assert read(text).state is State.COMPLETE


def test_the_last_rule_always_answers() -> None:
    assert read("nothing that anybody knows").rule == "unknown"
    assert len(screen.RULES) == len(set(screen.RULES))
