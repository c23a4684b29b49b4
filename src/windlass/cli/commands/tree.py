"""Shows the agents as a tree."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import render
from windlass.cli.call import Call

EXAMPLES = ("wl tree", "wl tree api")


def arguments(parser: ArgumentParser) -> None:
    """Takes where to begin."""
    parser.add_argument("agent", nargs="?", help="only what is below this agent")


def run(call: Call) -> int:
    """Draws the tree of agents."""
    listed = call.ask("agents", manager=call.args.agent)
    call.data(listed)
    for line in render.tree(call, listed):
        call.say(line)
    if not listed:
        call.tell("no agents")
    return 0
