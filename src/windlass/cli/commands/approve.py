"""Lets a change land that waits for you: you have looked at this revision of it.

The next revision is looked at anew: this refuses another one than wl diff has shown you last. What
is approved is gated all the same.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import landed
from windlass.cli.call import Call

EXAMPLES = (
    "wl diff c12",
    "wl approve c12",
    "wl approve c12 --expect $(wl show c12 --json | jq -r .head)",
)


def arguments(parser: ArgumentParser) -> None:
    """Takes a change and what was looked at."""
    parser.add_argument("change", metavar="CHANGE|AGENT|BRANCH")
    parser.add_argument(
        "--expect", metavar="COMMIT", help="refuse if it is at another commit by now"
    )


def run(call: Call) -> int:
    """Says it, and shows where the change stands then."""
    expect = {"expect": call.args.expect} if call.args.expect else {}
    change = call.ask("approve", change=call.args.change, **expect)
    call.data(change)
    landed.say(call, change)
    return 0
