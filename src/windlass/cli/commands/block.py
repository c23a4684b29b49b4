"""Keeps a change from landing until you approve it, or it has a next revision.

Its agent goes on; say with `wl send` what you want otherwise.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import landed
from windlass.cli.call import Call

EXAMPLES = ("wl block c12 'the API may not change'",)


def arguments(parser: ArgumentParser) -> None:
    """Takes a change and a reason."""
    parser.add_argument("change", metavar="CHANGE|AGENT|BRANCH")
    parser.add_argument("why", nargs="?", default="", help="what you have against it")


def run(call: Call) -> int:
    """Says it, and shows where the change stands then."""
    why = {"why": call.args.why} if call.args.why else {}
    change = call.ask("block", change=call.args.change, **why)
    call.data(change)
    landed.say(call, change)
    return 0
