"""Prints the folder of an agent's workspace."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call
from windlass.cli.output import write_exactly

EXAMPLES = ('cd "$(wl path api)"',)


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent."""
    parser.add_argument("agent", nargs="?")


def run(call: Call) -> int:
    """Prints the folder."""
    place = call.ask("place", agent=call.args.agent)
    call.data(place)
    if not call.json:
        write_exactly(place["path"] + "\n")
    return 0
