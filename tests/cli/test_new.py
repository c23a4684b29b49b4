"""What `wl new` asks for, and what it says of the agent that it started."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.told import Told, piped_in

from windlass.cli.commands import (
    new,
    resume,
)
from windlass.core.errors import UserError

MADE: dict[str, Any] = {
    "id": "a",
    "role": "worker",
    "withheld": [],
    "waiting": [],
    "included": 0,
    "left_out": [],
    "changes": None,
    "submodules": [],
    "remarks": [],
    "lacks": "",
    "branch": "agent/a",
    "base_from": "HEAD",
    "base": "0",
    "isolation": "hooks",
    "network": "host",
    "unboxed": "asked for",
    "out_of_box": "",
    "to_box": "",
}


def meant(monkeypatch: pytest.MonkeyPatch, *words: str, stdin: io.TextIOBase) -> dict[str, Any]:
    """What `wl new` asks for."""
    monkeypatch.setattr(sys, "stdin", stdin)
    call = Told(new, *words, spawn=lambda _: MADE)
    new.run(call)
    return {name: value for name, value in call.asked[0][1].items() if value is not None}


@pytest.mark.parametrize(
    ("words", "stdin", "meaning"),
    [
        (["--manager", "refactor"], "", ("refactor", None, "manager")),
        (["--manager", "lead"], "a goal", ("a goal", "lead", "worker")),
        (["--manager", "refactor", "--parent", "lead"], "", ("refactor", "lead", "manager")),
        (["--manager", "--parent", "lead", "a goal"], "", ("a goal", "lead", "manager")),
        (["--manager", "lead", "a goal"], "", ("a goal", "lead", "worker")),
        (["--manager", "two words"], "not read", ("two words", None, "manager")),
        (["--parent", "lead", "a goal"], "", ("a goal", "lead", "worker")),
        (["--manager", "--", "a goal"], "", ("a goal", None, "manager")),
        ([], "a goal", ("a goal", None, "worker")),
        (["--role", "reviewer", "a goal"], "", ("a goal", None, "reviewer")),
        (["--role", "reviewer", "--manager", "lead", "a goal"], "", ("a goal", "lead", "reviewer")),
        (["--role", "manager", "--manager", "--", "a goal"], "", ("a goal", None, "manager")),
    ],
)
def test_a_manager_a_parent_and_a_goal_are_told_apart(
    words: list[str],
    stdin: str,
    meaning: tuple[str, str | None, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = meant(monkeypatch, *words, stdin=piped_in(stdin))
    assert (asked["goal"], asked.get("parent"), asked["role"]) == meaning


@pytest.mark.parametrize(
    "words",
    [
        *([], ["--manager"], ["--manager", "lead", ""], ["--manager", "a", "--parent", "b", "x"]),
        *(["--role", "reviewer", "--worker", "x"], ["--role", "worker", "--manager", "--", "x"]),
    ],
)
def test_what_cannot_be_meant_is_refused(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError):
        meant(monkeypatch, *words, stdin=piped_in(""))


@pytest.mark.parametrize(
    ("piped", "goal"), [("a diff\n", "review\n\na diff\n"), ("\n", "review\n")]
)
def test_what_is_piped_follows_the_prompt_file(
    piped: str, goal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "review.md").write_text("review\n")
    words = ("--prompt-file", str(tmp_path / "review.md"))
    assert meant(monkeypatch, *words, stdin=piped_in(piped))["goal"] == goal


def test_a_script_is_a_file_that_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "plan.json").write_text("{}")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    asked = meant(monkeypatch, "--script", "plan.json", "x", stdin=piped_in(""))
    assert asked["script"] == str(tmp_path / "plan.json")
    with pytest.raises(UserError, match="not a regular file"):
        meant(monkeypatch, "--script", "pipe", "x", stdin=piped_in(""))
    with pytest.raises(UserError, match="no script"):
        meant(monkeypatch, "--script", "absent", "x", stdin=piped_in(""))


def test_the_driver_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINDLASS_DRIVER", "standin")
    assert meant(monkeypatch, "x", stdin=piped_in(""))["driver"] == "standin"
    assert meant(monkeypatch, "x", "--driver", "other", stdin=piped_in(""))["driver"] == "other"


@pytest.mark.parametrize("option", ["--allow-tools", "--deny-tools"])
def test_a_pattern_that_means_nothing_starts_nobody(option: str) -> None:
    call = Told(new, option, "Read,Bash(git", "x")
    with pytest.raises(UserError, match=rf"{option}: 'Bash\(git' .* not closed"):
        new.run(call)
    assert not call.asked


@pytest.mark.parametrize(
    "words",
    [
        *(("--max-budget", amount) for amount in ("nan", "inf", "1e400", "abc", "", "0", "-1")),
        *(("--time-limit", limit) for limit in ("", "0", "soon", "9" * 400, "-1")),
    ],
    ids=lambda words: " ".join(words)[:20],
)
@pytest.mark.parametrize(
    ("module", "rest"), [(new, "a goal"), (resume, "fox")], ids=["new", "resume"]
)
def test_a_limit_that_limits_nothing_is_refused_before_anybody_is_asked(
    module: Any, rest: str, words: tuple[str, str]
) -> None:
    with pytest.raises(UserError, match=r"not an? (amount|duration|time)|argument") as refused:
        Told(module, *words, rest)
    assert refused.value.hint


@pytest.mark.parametrize("number", ["0", "-3", "many", "1" * 5000])
def test_a_number_of_turns_is_above_zero(number: str) -> None:
    with pytest.raises(UserError, match="max-turns"):
        Told(new, "--max-turns", number, "a goal")


def test_limits_are_asked_for_in_dollars_and_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("--max-budget", "5", "--time-limit", "2h")
    asked = meant(monkeypatch, *words, "x", stdin=piped_in(""))
    assert (asked["max_usd"], asked["max_seconds"]) == (5.0, 7200.0)
    call = Told(resume, "fox", *words, resume=lambda _: {"id": "fox", "state": "running"})
    resume.run(call)
    assert call.asked == [("resume", {"agent": "fox", "max_usd": 5.0, "max_seconds": 7200.0})]


@pytest.mark.parametrize(
    ("flags", "there", "absent"),
    [(["--print"], "wl log a --follow", "attach"), ([], "wl attach a", "--follow")],
)
def test_who_starts_an_agent_is_told_of_what_it_has(
    flags: list[str],
    there: str,
    absent: str,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    meant(monkeypatch, *flags, "x", stdin=piped_in(""))
    said = capsysbinary.readouterr().out.decode()
    assert "wl look a " in said
    assert there in said
    assert absent not in said


@pytest.mark.parametrize(
    ("asked", "configured", "own", "said"),
    [
        ("hooks", "required", "", "isolation is required here: your --isolation hooks went"),
        ("auto", "box", "", "isolation is box here: your --isolation auto went"),
        ("hooks", "auto", "required", "roles.worker.isolation is required here"),
        ("hooks", "required", "auto", None),
        ("hooks", "hooks", "", None),
    ],
)
def test_who_goes_below_what_is_configured_is_told(
    asked: str,
    configured: str,
    own: str,
    said: str | None,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    known = {"isolation": {"value": configured}, "roles.worker.isolation": {"value": own}}
    config = {"settings": known, "problems": []}
    new.run(Told(new, "--isolation", asked, "x", spawn=lambda _: MADE, config=lambda _: config))
    out = capsysbinary.readouterr().out.decode()
    assert said in out if said else "went before" not in out


def test_who_starts_an_agent_is_told_what_only_a_person_gives_its_role(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    made = {**MADE, "role": "auditor", "withheld": ["spawns", "readonly"]}
    new.run(Told(new, "--role", "auditor", "x", spawn=lambda _: made))
    said = capsysbinary.readouterr().out.decode()
    assert "started as an auditor" in said
    assert "wl config set --global roles.auditor.spawns true" in said
    assert "wl config set --global roles.auditor.readonly false" in said


def test_what_a_boxed_agent_has_not_of_the_persons_ways_is_told_with_what_would_bring_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    remarks = [{"text": "without your servers a\x1b[2J", "fix": "wl x"}, {"text": "b", "fix": ""}]
    new.run(Told(new, "x", spawn=lambda _: {**MADE, "remarks": remarks}))
    assert "  without your servers a\\x1b[2J: wl x\n  b\n" in capsys.readouterr().out


def test_files_of_the_persons_own_that_an_agent_was_given_are_told_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = {**MADE, "included": 2, "left_out": ["a", "b\x1b[2J", "c", "d", "e"]}
    new.run(Told(new, "x", spawn=lambda _: made))
    said = capsys.readouterr().out
    assert "with 2 ignored files of your checkout\n" in said
    assert "and 2 more: links that lead elsewhere" in said
    assert "\x1b[2J" not in said
    new.run(Told(new, "x", spawn=lambda _: MADE))
    assert "ignored file" not in capsys.readouterr().out


def test_a_conversation_that_leaves_its_box_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    meant(monkeypatch, "x", stdin=piped_in(""))
    assert "conversation" not in capsys.readouterr().out
    monkeypatch.setitem(MADE, "out_of_box", "fox")
    meant(monkeypatch, "x", "--fork", "fox", stdin=piped_in(""))
    assert "the conversation of fox, which was written in a box" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("carried", "said"),
    [
        (
            False,
            "without your 2 uncommitted files (a, b): commit first, or start it --with-changes",
        ),
        (True, "with copies of your 2 uncommitted files (a, b), uncommitted there too"),
    ],
)
def test_who_starts_an_agent_is_told_of_edits_and_submodules_that_it_lacks(
    carried: bool,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    changes = {"files": 2, "names": ["a", "b"], "carried": carried, "problem": ""}
    made = {**MADE, "changes": changes, "submodules": ["lib"]}
    call = Told(new, "x", spawn=lambda _: made)
    new.run(call)
    out = capsys.readouterr().out
    assert f"  {said}\n" in out
    assert "  without its 1 submodule (lib), which your own clone has not: `git submodule" in out
