"""Takes a change out of the queue for good. Its branch and its agent stay as they are.

An agent or a branch means its newest change. `wl merge` of the same branch proposes it anew, as
another change; `wl kill` ends an agent.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import landed
from windlass.cli.call import Call

EXAMPLES = ("wl drop c12", "wl drop c12 'done otherwise'")


def arguments(parser: ArgumentParser) -> None:
    """Takes a change and a reason."""
    parser.add_argument("change", metavar="CHANGE|AGENT|BRANCH")
    parser.add_argument("why", nargs="?", default="", help="why nobody wants it any more")


def run(call: Call) -> int:
    """Says it, and shows where the change stands then."""
    why = {"why": call.args.why} if call.args.why else {}
    change = call.ask("drop", change=call.args.change, **why)
    call.data(change)
    landed.say(call, change)
    return 0
