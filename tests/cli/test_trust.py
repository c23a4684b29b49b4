"""`wl trust`: what is shown of a repository's lines, and which are accepted."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.cli.told import Terminal, Told

from windlass.cli.commands import (
    trust,
)
from windlass.core.errors import UserError

WAITS = {"value": "x", "instead_of": "", "in_boxes": False, "personal": False}


LINES = [
    {**WAITS, "key": "diff_tool", "digest": "d1", "value": "e\x1b[8mvil\n\u202e"},
    {**WAITS, "key": "notify.command", "digest": "d2", "personal": True},
    {**WAITS, "key": "workspace.setup", "digest": "d3", "in_boxes": True},
]


SHOWN = {"root": "/r", "config": "/r/c", "waiting": LINES, "accepted": [], "problems": []}


@pytest.mark.parametrize(
    ("words", "typed", "sent"),
    [
        ((), "y\n", ["d1", "d3"]),
        (("workspace.setup",), "yes\n", ["d3"]),
        (("-y",), "", ["d1", "d3"]),
        (("--json", "--yes"), "", ["d1", "d3"]),
        ((), "n\n", None),
        (("--json",), "", None),
        (("notify.command", "-y"), "", None),
    ],
)
def test_what_is_accepted_are_the_lines_that_were_shown(
    words: tuple[str, ...],
    typed: str,
    sent: list[str] | None,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    call = Told(trust, *words, trust=lambda _: SHOWN, **{"trust.accept": lambda _: SHOWN})
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    if typed == "n\n":
        with pytest.raises(UserError, match="nothing was done"):
            trust.run(call)
    else:
        trust.run(call)
    assert [request["digests"] for verb, request in call.asked if verb == "trust.accept"] == (
        [] if sent is None else [sent]
    )
    said = capsysbinary.readouterr().out.decode()
    assert "\x1b" not in said
    assert "\u202e" not in said


@pytest.mark.parametrize(
    ("words", "asked"),
    [((), "accept these 2 lines of /r/c? "), (("workspace.setup",), "accept this line of /r/c? ")],
)
def test_the_question_says_how_many_lines_are_accepted(
    words: tuple[str, ...],
    asked: str,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
    with pytest.raises(UserError, match="nothing was done"):
        trust.run(Told(trust, *words, trust=lambda _: SHOWN))
    assert capsysbinary.readouterr().err.decode().startswith(asked)


def test_files_that_another_file_lists_are_said_to_come_from_there(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    line = {**WAITS, "key": "workspace.include", "digest": "d4", "value": [".env"]}
    shown = {**SHOWN, "root": str(tmp_path), "waiting": [line]}

    def said() -> str:
        trust.run(Told(trust, "-y", trust=lambda _: shown, **{"trust.accept": lambda _: shown}))
        return capsysbinary.readouterr().out.decode()

    assert ".worktreeinclude" not in said()
    (tmp_path / ".worktreeinclude").write_text(".env\n")
    assert "; what .worktreeinclude lists is among it\n" in said()


def test_a_value_is_shown_in_full_with_nothing_hidden(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    trust.run(Told(trust, "-y", trust=lambda _: SHOWN, **{"trust.accept": lambda _: SHOWN}))
    said = capsysbinary.readouterr().out.decode()
    assert '  diff_tool = "e\\u001b[8mvil\\n\\u202e"\n      instead of ""\n' in said
    assert "counts in your own configuration alone" in said
    assert "agents in a box have it already" in said


def test_a_table_is_shown_as_its_file_could_have_it() -> None:
    """What has no value is no key of it."""
    assert trust._written({"name": "t", "timeout": None}) == '{name = "t"}'  # noqa: SLF001
