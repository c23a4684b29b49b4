"""Writes a line into an agent's log; an agent writes into its own."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call

EXAMPLES = ('wl note "found the cause in parser.py"', 'wl note --agent api "reviewed by hand"')


def arguments(parser: ArgumentParser) -> None:
    """Takes a text."""
    parser.add_argument("text", nargs="+")
    parser.add_argument("--agent", help="whose log; inside an agent, its own")


def run(call: Call) -> int:
    """Writes the line into the agent's log."""
    done = call.ask("note", agent=call.args.agent, text=" ".join(call.args.text))
    call.data(done)
    call.tell(done["noted"])
    return 0
