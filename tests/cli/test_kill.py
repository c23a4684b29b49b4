"""What is asked and said when agents are ended or merged."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from tests.cli.told import NO_CHANGES, NOTHING, Terminal, Told

from windlass.cli.commands import (
    kill,
    merge,
    nuke,
)
from windlass.core.errors import Conflict, GitError, UserError


@pytest.mark.parametrize(("module", "verb"), [(kill, "end"), (nuke, "end"), (merge, "merge")])
def test_the_question_names_the_agent_that_a_prefix_means(
    module: Any,
    verb: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    checked = {"problems": [], "gated": False}
    asked: dict[str, Any] = {"why": lambda _: {"id": "apiary"}, "merge-check": lambda _: checked}
    asked["unfinished"] = lambda _: NO_CHANGES
    call = Told(module, "api", **asked)
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    with pytest.raises(UserError, match="nothing was done"):
        module.run(call)
    assert " apiary" in capsys.readouterr().err
    done = {
        "ended": [],
        "failed": [],
        "orphans": [],
        "notes": [],
        "into": "main",
        "commit": "0" * 40,
        "verdict": "",
        "tip": "",
    }
    call = Told(module, "api", **asked, **{verb: lambda _: done})
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    module.run(call)
    assert "api" in str(call.asked[-1])
    call = Told(module, "api", "--force", **asked, **{verb: lambda _: done})
    module.run(call)
    looks = ("merge-check", "unfinished")
    assert [name for name, _ in call.asked if name not in looks] == [verb]


@pytest.mark.parametrize("module", [kill, nuke, merge])
def test_what_ends_agents_is_not_asked_of_one_that_two_letters_mean(module: Any) -> None:
    checked = {"merge-check": lambda _: {"problems": [], "gated": False}}
    call = Told(module, "ap", why=lambda _: {"id": "api"}, **checked)
    with pytest.raises(UserError, match="'ap' is api, but too short") as refused:
        module.run(call)
    assert refused.value.hint == "type it, or at least 3 letters of it: api"


@pytest.mark.parametrize(("names", "whose"), [(["api"], "its"), (["api", "ui"], "their")])
def test_the_question_speaks_of_one_agent_or_of_several(
    names: list[str],
    whose: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    with pytest.raises(UserError, match="nothing was done"):
        kill.run(Told(kill, *names, why=lambda request: {"id": request["agent"]}))
    assert f"? {whose} work is kept" in capsys.readouterr().err


def test_who_ends_agents_is_told_where_their_work_is(capsys: pytest.CaptureFixture[str]) -> None:
    summary = {"dropped": 1}
    ended = [
        {"id": "api", "trash": None, "archived": "/archive/api/workspace"},
        {"id": "ui", "trash": {"id": "ui-1", "summary": summary}, "archived": None},
    ]
    done = {"ended": ended, "failed": [], "orphans": ["x"], "notes": []}
    draft = {"id": "c3", "state": "draft", "author": "ui"}
    left: Any = {"changes": [draft, {**draft, "id": "c4", "author": "owl"}]}
    kill.run(Told(kill, "api", "ui", "--force", end=lambda _: done, unfinished=lambda _: left))
    said = capsys.readouterr().out
    assert "api ended; its repository is gone, its files are in /archive/api/workspace\n" in said
    assert "  1 thing was too big or odd to keep: wl trash show ui-1\n" in said
    assert "1 agent below went to the next manager up\n" in said
    assert "ui's draft c3 is dropped with it: wl undo brings both back\n" in said
    assert "c4" not in said


def test_who_could_not_be_ended_is_named_and_makes_the_command_fail(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stuck = {"id": "ui", "kind": "git", "message": "no \x1b[2Jroom", "hint": "make some"}
    done = {"ended": [], "failed": [stuck], "orphans": [], "notes": []}
    code = kill.run(Told(kill, "api", "ui", "--force", end=lambda _: done, **NOTHING))
    assert code == GitError.exit_code
    assert capsys.readouterr().out == "ui could not be ended: no \\x1b[2Jroom\n  make some\n"


def test_a_merge_that_will_be_refused_is_refused_before_the_question() -> None:
    checked = {"problems": ["it waits"], "gated": False}
    asked = {"why": lambda _: {"id": "api"}, "merge-check": lambda _: checked}
    with pytest.raises(Conflict, match="it waits"):
        merge.run(Told(merge, "api", **asked))
