"""Words of a command line that several commands take: numbers, ports, what comes after `--`."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cli.told import Told

from windlass.cli.commands import (
    daemon,
    inbox,
    log,
    look,
    model,
)
from windlass.cli.commands import exec as exec_
from windlass.core.errors import UserError


@pytest.mark.parametrize("number", ["-1", "many", "9" * 30, "1" * 5000])
@pytest.mark.parametrize(
    "words",
    [(log, "-n"), (look, "fox", "-n"), (inbox, "--last"), (daemon, "logs", "--lines")],
    ids=["log", "look", "inbox", "daemon"],
)
def test_a_number_of_lines_is_one_that_there_can_be(words: tuple[Any, ...], number: str) -> None:
    module, *rest = words
    with pytest.raises(UserError, match=r"is not a number of things to show|argument"):
        Told(module, *rest, number)


@pytest.mark.parametrize("port", ["99999999", "65536", "-1", "http"])
def test_a_port_is_a_port(port: str) -> None:
    with pytest.raises(UserError, match="is no port"):
        Told(model, "serve", "--port", port)


@pytest.mark.parametrize(
    ("words", "command", "json"),
    [
        (["a", "--", "ls", "-l"], ["ls", "-l"], False),
        (["a", "--json", "--", "ls", "--json"], ["ls", "--json"], True),
        (["--json", "a", "--", "git", "log", "--", "x"], ["git", "log", "--", "x"], True),
        (["a", "ls", "-l", "--", "x"], ["ls", "-l", "--", "x"], False),
        (["a", "--json"], [], True),
    ],
)
def test_options_before_the_dashes_are_ours(
    words: list[str], command: list[str], *, json: bool
) -> None:
    call = Told(exec_, *words)
    assert (call.args.command, call.json) == (command, json)


def test_an_option_that_is_not_ours_is_no_command() -> None:
    with pytest.raises(UserError, match="--colour"):
        Told(exec_, "a", "--colour", "--", "ls")
