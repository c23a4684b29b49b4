"""Shows an agent's screen, or the last of what a stopped one printed."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from windlass.cli import limits
from windlass.cli.call import Call

EXAMPLES = (
    "wl look api",
    "wl look api --lines 200",
    "wl look api --all | less -R",
    "wl look api -f",
)
_PERIOD = 1.0
"""Drawing makes no event, so a screen that is followed is asked for anew, in seconds."""


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent and how much."""
    parser.add_argument("agent")
    parser.add_argument("--lines", "-n", type=limits.count, help="lines of scrollback to show too")
    parser.add_argument("--all", action="store_true", help="the whole scrollback")
    parser.add_argument(
        "--follow", "-f", action="store_true", help="show again when it changes, until it ends"
    )
    parser.add_argument("--no-color", action="store_true", help="leave colours out")


def run(call: Call) -> int:
    """Prints it, once or whenever it changes."""
    shown = _screen(call, call.args.agent)
    call.data(shown)
    call.show_screen(shown["screen"].rstrip())
    if call.args.follow and not call.json:
        _follow(call, shown)
    return 0


def _screen(call: Call, agent: str) -> dict[str, Any]:
    args = call.args
    colour = call.colour and not args.no_color
    # None is left out of requests and means "everything" there, hence the very large number.
    lines = (1 << 30) if args.all else (args.lines or 0)
    screen: dict[str, Any] = call.ask("look", agent=agent, lines=lines, colour=colour)
    return screen


def _follow(call: Call, shown: dict[str, Any]) -> None:
    name = shown["id"]
    while shown["live"]:
        time.sleep(_PERIOD)
        before, shown = shown, _screen(call, name)
        if shown["id"] != name:  # it has ended, and another begins with its name
            return
        if shown["screen"] != before["screen"]:
            call.show_screen(shown["screen"].rstrip(), again=True)
