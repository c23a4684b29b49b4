"""`wl list`, `status` and `diff`: what is said where somebody or something is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.cli.told import FOX, HALTED, Told

from windlass.cli.commands import (
    diff,
    status,
)
from windlass.cli.commands import list as list_


def test_a_manager_of_nobody_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    list_.run(Told(list_, "--manager", "zz", agents=lambda _: []))
    assert capsys.readouterr().out == "zz manages nobody\n"


def test_a_crew_that_the_store_lost_is_not_called_nobody(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lost = [{"kind": kind} for kind in ("session", "workspace", "folder", "branch")]
    list_.run(Told(list_, agents=lambda _: [], repair=lambda _: lost))
    assert "2 workspaces and sessions that no agent accounts for" in capsys.readouterr().out
    list_.run(Told(list_, agents=lambda _: [], repair=lambda _: []))
    assert capsys.readouterr().out.startswith("no agents; ")


WORK: dict[str, Any] = {
    "repo": "r",
    "id": "g2",
    "state": "waiting",
    "state_age": 1.0,
    "source": "hook",
    "evidence": "idle",
    "branch": "agent/g2",
    "isolation": "box",
    "network": "host",
    "workspace": "/w",
    "commits": [],
    "branch_gone": True,
    "error": None,
    "work": {
        "exists": True,
        "operation": None,
        **{
            kind: []
            for kind in ("conflicted", "staged", "unstaged", "untracked", "nested", "unread")
        },
    },
}


@pytest.mark.parametrize(
    ("level", "way"), [("box", "wl kill g2"), ("hooks", "git branch agent/g2")]
)
def test_the_status_of_one_agent_says_that_its_branch_is_gone_and_how_it_comes_back(
    level: str, way: str, capsys: pytest.CaptureFixture[str]
) -> None:
    agents = [{**WORK, "isolation": level}]
    reply = {"repo": "/r", "head": None, "agents": agents}
    status.run(Told(status, "g2", status=lambda _: reply, **{"set-aside": lambda _: []}))
    said = capsys.readouterr().out
    assert said.startswith("g2  waiting")
    assert "the branch agent/g2 is gone" in said
    assert way in said
    assert "no commits yet" not in said


def test_a_halted_merge_is_named_where_its_agent_is(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    left: dict[str, Callable[[dict[str, Any]], Any]] = {"set-aside": lambda _: [HALTED]}
    list_.run(Told(list_, agents=lambda _: [FOX], **left))
    assert (
        "fox: merge into main is halted: wl retry fox\n" in capsysbinary.readouterr().out.decode()
    )
    kinds = ("conflicted", "staged", "unstaged", "untracked", "nested", "unread")
    work: dict[str, Any] = {"exists": True, "operation": None, **{kind: [] for kind in kinds}}
    shown = {"agents": [{**FOX, "work": work}], "head": None, "repo": "r"}
    status.run(Told(status, "fox", status=lambda _: shown, **left))
    said = capsysbinary.readouterr().out.decode()
    assert "  merge into main is halted: `wl retry fox` tries it once more\n" in said


def test_a_difference_of_a_vanished_workspace_is_said_to_be_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    reply = {
        "id": "g2",
        "base": "0",
        "tip": "1",
        "gone": True,
        "committed": "",
        "uncommitted": "",
        "unread": [],
    }
    diff.run(Told(diff, "g2", diff=lambda _: reply))
    said = capsys.readouterr()
    assert "gone" not in said.out, "what programs read is the difference alone"
    assert "g2's workspace is gone" in said.err
