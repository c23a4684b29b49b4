"""How tables and trees look, on terminals of any width and for agents of any parentage."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import pytest

from windlass.cli import output, render
from windlass.cli.call import Call


def agent(uid: str, name: str, parent: str | None = None, **more: Any) -> dict[str, Any]:
    seen = {"uid": uid, "id": name, "parent_uid": parent, "repo": "r", "state": "running"}
    plain = {"state_age": 5.0, "age": 5.0, "role": "worker", "isolation": "hooks", "branch": "b"}
    return {**seen, **plain, "goal": "a goal", **more}


@pytest.fixture
def call() -> Call:
    return Call(Namespace())


def narrow(call: Call, monkeypatch: pytest.MonkeyPatch, places: int) -> None:
    call.terminal = True
    monkeypatch.setenv("COLUMNS", str(places))


def test_agents_of_one_name_in_two_repositories_keep_their_own_children(call: Call) -> None:
    listed = [
        agent("1", "lead", repo="one"),
        agent("2", "hand", "1", repo="one"),
        agent("3", "lead", repo="two"),
        agent("4", "hand", "3", repo="two"),
    ]
    assert [line.split("  ")[0] for line in render.tree(call, listed)] == [
        "lead",
        "└─ hand",
        "lead",
        "└─ hand",
    ]
    assert render.depths(listed) == {"1": 0, "2": 1, "3": 0, "4": 1}


def test_a_list_of_several_repositories_says_which(
    call: Call, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    render.agents(call, [agent("1", "lead", repo="one"), agent("3", "lead", repo="two")])
    head, first, second = capsysbinary.readouterr().out.decode().splitlines()
    assert "REPO" in head
    assert "one" in first
    assert "two" in second


def test_agents_that_are_each_others_parents_are_drawn_once(call: Call) -> None:
    listed = [agent("1", "a", "2"), agent("2", "b", "1"), agent("3", "c", "3")]
    lines = render.tree(call, listed)
    assert len(lines) == 3
    assert set(render.depths(listed)) == {"1", "2", "3"}


def test_a_tree_deeper_than_python_recurses_is_drawn(call: Call) -> None:
    listed = [agent(str(n), f"a{n}", str(n - 1)) for n in range(2000)]
    assert len(render.tree(call, listed)) == 2000


@pytest.mark.parametrize("places", [20, 40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(
    call: Call,
    places: int,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    narrow(call, monkeypatch, places)
    goal = "日本語のとても長い目標の文章 e\u0301t plus encore " * 4
    listed = [
        agent(str(n), f"agent-{n}", str(n - 1), goal=goal, branch=f"agent/agent-{n}")
        for n in range(40)
    ]
    render.agents(call, listed)
    for line in render.tree(call, listed, indent="  "):
        call.say(line)
    shown = capsysbinary.readouterr().out.decode().splitlines()
    assert len(shown) == 81
    assert max(map(render.width, shown)) <= places


def test_a_terminal_that_is_too_narrow_loses_whole_columns_before_names(
    call: Call, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    narrow(call, monkeypatch, 60)
    render.agents(call, [agent("1", "a-rather-long-name", branch="agent/a-rather-long-name")])
    head, line = capsysbinary.readouterr().out.decode().splitlines()
    assert "BRANCH" not in head
    assert "a-rather-long-name" in line


def test_where_there_is_no_terminal_only_goals_are_cut(
    call: Call, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    render.agents(call, [agent("1", "a" * 90, branch="b" * 90, goal="g\n" * 35_000)])
    _, line = capsysbinary.readouterr().out.decode().splitlines()
    assert "a" * 90 in line
    assert "b" * 90 in line
    assert line.endswith("…")
    assert len(line) < 400


@pytest.mark.parametrize(
    ("text", "places"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("a\u200db", 2), ("", 0)]
)
def test_a_text_is_as_wide_as_a_terminal_shows_it(text: str, places: int) -> None:
    assert render.width(text) == places


@pytest.mark.parametrize(
    ("room", "cut"), [(0, ""), (1, "…"), (2, "…"), (3, "日…"), (4, "日…"), (6, "日本語")]
)
def test_a_wide_character_is_cut_whole(room: int, cut: str) -> None:
    assert render.fit("日本語", room) == cut


def test_cells_cannot_carry_escapes(call: Call, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    render.table(call, ("KEY", "VALUE"), [("a", "\x1b[2J\n")], grow=1)
    assert b"\x1b" not in capsysbinary.readouterr().out


def test_repositories_are_shown_by_as_much_of_their_folder_as_tells_them_apart() -> None:
    roots = {"1": "/home/ann/work/api", "2": "/home/bob/work/api", "3": "/srv/ui", "4": "/ui/srv"}
    assert render.short_paths(roots) == {
        "1": "ann/work/api",
        "2": "bob/work/api",
        "3": "ui",
        "4": "srv",
    }


def test_one_thing_is_not_several() -> None:
    assert [render.counted(count, "commit") for count in (0, 1, 2)] == [
        "0 commits",
        "1 commit",
        "2 commits",
    ]
    assert render.counted(2, "entry", "entries") == "2 entries"


def test_a_colour_takes_no_room_of_a_line_that_is_folded(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow(call, monkeypatch, 40)
    text = output.paint("one two three four five", "red")
    assert output.unpainted(render.folded(call, "lead  ", text, indent=6)) == (
        "lead  one two three four five"
    )
