"""Says that messages to you are dealt with: they leave `wl inbox` and `wl questions`."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call
from windlass.cli.commands.message import acknowledge
from windlass.core.errors import UserError

EXAMPLES = ("wl acknowledge msg-5f0c", "wl acknowledge --all")


def arguments(parser: ArgumentParser) -> None:
    """Takes messages, or all of them."""
    parser.add_argument("messages", nargs="*", metavar="ID")
    parser.add_argument("--all", action="store_true", help="everything that waits for you")


def run(call: Call) -> int:
    """Acknowledges them."""
    args = call.args
    if args.messages and args.all:
        raise UserError(
            f"both --all and {', '.join(args.messages)} are given",
            "name messages, or acknowledge everything with --all",
        )
    return acknowledge(call, args.messages, everything=args.all)
