"""Runs a command in an agent's workspace, told the agent's ports and slot."""

from __future__ import annotations

import os
from argparse import REMAINDER, ArgumentParser

from windlass.cli.call import Call
from windlass.core.errors import UserError

EXAMPLES = ("wl exec api -- make test", "wl exec api -- git log --oneline")


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent and a command."""
    parser.add_argument("agent")
    parser.add_argument("command", nargs=REMAINDER, metavar="-- COMMAND ...")


def run(call: Call) -> int:
    """Becomes the command."""
    command = call.args.command
    if command[:1] == ["--"]:
        command = command[1:]
    if not command:
        raise UserError("which command?", "wl exec AGENT -- COMMAND ...")
    found = call.ask("place", agent=call.args.agent)
    os.chdir(found["path"])
    try:
        os.execvpe(command[0], command, os.environ | found["env"])  # noqa: S606 - what was asked for
    except OSError as error:
        raise UserError(f"cannot run {command[0]}: {error.strerror}", "is it on PATH?") from None
