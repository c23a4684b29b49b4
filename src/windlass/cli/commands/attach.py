"""Joins an agent's terminal. Inside tmux it opens as a window there; detach with C-b d."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser

from windlass.cli.call import Call
from windlass.core.errors import UserError
from windlass.core.leaks import without_leaks

EXAMPLES = ("wl attach api",)


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent."""
    parser.add_argument("agent")


def run(call: Call) -> int:
    """Becomes the tmux client."""
    found = call.ask("attachment", agent=call.args.agent)
    call.data(found)
    if call.json:
        return 0
    if os.environ.get("TMUX"):
        argv: list[str] = found["window"]
        os.execvp(argv[0], argv)  # noqa: S606 - the person's own tmux
    if not sys.stdin.isatty():
        raise UserError("attach needs a terminal", f"wl look {found['id']} prints the screen")
    argv = found["attach"]
    os.execvpe(argv[0], argv, without_leaks(os.environ))  # noqa: S606 - a tmux client
