"""Shows the changes that wait: for the gate, for what they need, or for you; --all has the rest.

`wl merge BRANCH` proposes a branch: it is merged onto the branch that changes land on, that very
tree goes through the gate, and only what is green lands.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import landed
from windlass.cli.call import Call

EXAMPLES = ("wl queue", "wl queue --all --json")


def arguments(parser: ArgumentParser) -> None:
    """Takes whether to show those that are over."""
    parser.add_argument("--all", action="store_true", help="also those that landed or came back")


def run(call: Call) -> int:
    """Lists changes."""
    asked = call.ask("changes", all=call.args.all)
    call.data(asked["changes"])
    if asked["changes"] and not call.json:
        landed.table(call, asked["changes"])
    if not asked["changes"]:
        call.tell("nothing waits for landing; wl queue --all has what landed or came back")
    return 0
