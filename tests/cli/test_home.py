"""The first screen: what needs the person, each with the command to type."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.told import FOX, HALTED, NO_CHANGES, NOTHING, Told

from windlass.cli.commands import (
    home,
)


@pytest.mark.parametrize(
    ("more", "said", "command"),
    [
        ({"state": "rate_limited", "goes_on_at": 0.0}, "is at a limit", "wl send fox"),
        ({"state": "rate_limited"}, None, None),
        ({"state": "creating", "state_age": 300.0}, "still being set up", "wl log fox"),
        ({"state": "creating"}, None, None),
        ({"state": "running", "stuck": "no room"}, "commits home: no room", "wl why fox"),
        ({"state": "waiting", "denied": "git push"}, "denied: git push", "wl denials fox"),
        ({"state": "paused", "evidence": "paused: why"}, "is paused: why", "wl resume fox"),
        ({"state": "running"}, None, None),
    ],
)
def test_what_stalls_needs_the_person_on_the_screen_and_in_json(
    more: dict[str, Any], said: str | None, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = {"id": "fox", "uid": "u", "state_age": 5.0, "evidence": "e", "parent": "lead", **more}
    home.run(Told(home, "--json", agents=lambda _: [agent], unfinished=lambda _: NO_CHANGES))
    (shown,) = json.loads(capsys.readouterr().out)
    need = shown["needs_you"]
    if said is None:
        assert need is None
    else:
        assert said in need["text"]
        assert command in need["command"]


def test_an_agent_that_is_paused_needs_the_person_and_says_why(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    agent = {
        "id": "fox", "uid": "u", "repo": "r", "parent": None, "parent_uid": None, "children": 0,
        "state": "paused", "state_age": 5.0, "goal": "count", "isolation": "box",
        "network": "host", "evidence": "paused: agent fox has spent 3.00 of 2.00 USD",
    }  # fmt: skip
    call = Told(
        home,
        agents=lambda _: [agent],
        questions=lambda _: [],
        costs=lambda _: {"total": {"usd": 0, "notional_usd": 0}},
        unfinished=lambda _: NO_CHANGES,
        **{"set-aside": lambda _: []},
    )
    home.run(call)
    above, _, _ = capsysbinary.readouterr().out.decode().partition("crew")
    assert "fox is paused: agent fox has spent 3.00 of 2.00 USD (5s)    wl resume fox\n" in above


def test_a_halted_merge_is_one_short_line_and_its_agent_is_not_to_be_resumed(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    halted = {**NOTHING, "set-aside": lambda _: [HALTED]}
    home.run(Told(home, agents=lambda _: [FOX], **halted))
    above, _, _ = capsysbinary.readouterr().out.decode().partition("crew")
    (line,) = (line for line in above.splitlines() if "fox" in line)
    assert line.startswith("  fox merge into main is halted (")
    assert line.endswith("    wl retry fox")
    assert (len(line) < 100, line.count("halted")) == (True, 1)
    elsewhere = [{**HALTED, "agents": ["owl"]}]
    other = {**NOTHING, "set-aside": lambda _: elsewhere}
    home.run(Told(home, agents=lambda _: [FOX], **other))
    assert "wl resume fox" in capsysbinary.readouterr().out.decode()


def test_who_asked_and_waits_for_the_answer_is_one_line(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    waits = {**FOX, "state": "waiting", "evidence": "WAITING"}
    asked = {"id": "msg-1", "repo": "r", "agent": "fox", "age": 5.0, "text": "which?"}
    home.run(Told(home, agents=lambda _: [waits], **{**NOTHING, "questions": lambda _: [asked]}))
    above, _, _ = capsysbinary.readouterr().out.decode().partition("crew")
    assert above.count("fox") == 1
    assert "fox asks (5s): which?" in above
    home.run(Told(home, agents=lambda _: [waits], **NOTHING))
    assert "fox waits (5s): WAITING" in capsysbinary.readouterr().out.decode()


BOARD = """## TASKS

- [x] **[API-1]** Add more
  - Priority: HIGH
  - Dependencies: none
- [*] **[API-2]** Add most
  - Priority: HIGH
  - Dependencies: none
- [ ] **[API-3]** Add all
  - Priority: HIGH
  - Dependencies: API-2
"""


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ({"is_over": True, "paused": False}, "1 to begin   wl run"),
        ({"is_over": False, "paused": False}, "being worked off   wl run follows it"),
        ({"is_over": False, "paused": True}, "paused   wl resume run"),
    ],
)
def test_a_board_is_shown_with_what_failed_and_what_to_type_next(
    seen: dict[str, Any],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """What has failed stands first, with the reason that its run gave."""
    (tmp_path / ".windlass").mkdir()
    (tmp_path / ".windlass" / "kanban.md").write_text(BOARD)
    monkeypatch.chdir(tmp_path)
    failed = {"task": "API-2", "state": "failed", "why": "audit gave FAIL"}
    answers = {**NOTHING, "agents": lambda _: [], "runs": lambda _: {**seen, "tasks": [failed]}}
    home.run(Told(home, **answers))
    first, need, between, board = capsys.readouterr().out.splitlines()
    assert first == "needs you"
    assert need == "  API-2 failed: audit gave FAIL    wl why API-2"
    assert not between
    assert board.startswith("board  ")
    assert "1 of 3 finished, 1 failed, 1 to begin" in board
    assert board.endswith(said)
    home.run(Told(home, "--json", **answers))
    shown = json.loads(capsys.readouterr().out)
    assert [(each["kind"], each["id"]) for each in shown] == [("board", "board"), ("task", "API-2")]
    assert shown[1]["needs_you"]["command"] == "wl why API-2"


def test_a_board_that_cannot_be_read_needs_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".windlass").mkdir()
    with (tmp_path / ".windlass" / "kanban.md").open("wb") as file:
        file.truncate(64 << 20)
    monkeypatch.chdir(tmp_path)
    home.run(Told(home, agents=lambda _: [], **NOTHING))
    assert "wl board validate" in capsys.readouterr().out
