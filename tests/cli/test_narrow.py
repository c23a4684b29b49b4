"""On a narrow terminal lines break between words, and nothing is lost."""

from __future__ import annotations

import time
from argparse import Namespace
from importlib import import_module
from typing import Any

import pytest

from windlass.cli import event_lines, render
from windlass.cli.call import Call
from windlass.cli.commands import doctor
from windlass.cli.commands import help as help_
from windlass.cli.index import ALL, LISTED, CommandEntry
from windlass.cli.main import parser_of

ROOM = 60


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch) -> Call:
    """A call on a terminal of sixty columns."""
    monkeypatch.setenv("COLUMNS", str(ROOM))
    made = Call(Namespace(command=None, all=True))
    made.terminal = True
    return made


def whole(said: str) -> list[str]:
    """The words of what was said; every line has room."""
    assert [line for line in said.splitlines() if len(line) > ROOM] == []
    return said.split()


def test_an_event_has_all_of_its_words(call: Call) -> None:
    data = {"text": "one two three four five six " * 6, "by": "user"}
    item: dict[str, Any] = {"at": time.time(), "agent": "fox", "kind": "note", "data": data}
    words = whole(event_lines.told(call, item))
    assert words[1:] == ["fox", "user", "notes:", *data["text"].split()]
    words = whole(event_lines.whole(call, item))
    assert words[1:] == ["fox", "note", *event_lines.carried(item).split()]


def test_a_colour_takes_no_room(call: Call) -> None:
    """A line is folded at the same word, painted or not."""
    text = "word " * 40
    plain = render.folded(call, "12:00:00 fox ", text, indent=9)
    call.colour = True
    painted = render.folded(call, f"{call.paint('12:00:00', 'dim')} fox ", text, indent=9)
    assert painted.splitlines()[1:] == plain.splitlines()[1:]


def test_every_command_of_the_list_is_explained(
    call: Call, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    help_.run(call)
    said = whole(capsysbinary.readouterr().out.decode())
    assert all(word in said for entry in LISTED for word in entry.about.split())


@pytest.mark.parametrize("entry", ALL, ids=lambda entry: entry.name)
@pytest.mark.usefixtures("call")
def test_the_description_of_a_command_breaks_between_words(entry: CommandEntry) -> None:
    module = import_module(entry.module)
    said = parser_of(entry, module).format_help()
    assert [line for line in said.splitlines() if len(line) > ROOM and " " in line.strip()] == []
    assert all(word in said.split() for word in (module.__doc__ or "").split())


def test_what_helps_has_a_command_that_can_be_copied(
    call: Call, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    command = "wl config add box.toolchains /a/rather/long/folder/of/programs --global"
    fix = f"if a program needs what is around it: {command}"
    doctor._print(call, {"name": "x", "works": True, "detail": "word " * 30, "fix": fix})  # noqa: SLF001 - one of many
    *said, last = capsysbinary.readouterr().out.decode().splitlines()
    assert last == f"      {command}"
    whole("\n".join(said))


def test_programs_get_one_line(call: Call) -> None:
    call.terminal = False
    assert render.folded(call, "a ", "word " * 50, indent=2).count("\n") == 0
