"""Lists the messages to you, or to an agent, that are not dealt with, and what became of each.

Inside an agent: its own. Outside of repositories: those of all, each with the folder of its own.
A terminal shows as much of a text as fits on a line; a pipe or a file gets every text whole, on one
line. `wl message show` shows one as it is.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from windlass.cli import limits, receipts
from windlass.cli.call import Call
from windlass.core.printable import printable_line

EXAMPLES = ("wl inbox", "wl inbox api --all", "wl inbox api --sent")


def arguments(parser: ArgumentParser) -> None:
    """Takes whose messages, and which of them."""
    parser.add_argument("agent", nargs="?", help="whose; yours without")
    parser.add_argument("--all", action="store_true", help="also what is dealt with or failed")
    parser.add_argument("--sent", action="store_true", help="what it sent, not what it got")
    parser.add_argument(
        "--last", type=limits.count, metavar="N", help="only the newest so many (200)"
    )


def run(call: Call) -> int:
    """Prints the messages, one a line."""
    args = call.args
    asked = {"agent": args.agent} if args.agent else {}
    messages = call.ask("inbox", **asked, all=args.all, sent=args.sent, last=args.last)
    call.data(messages)
    if not messages:
        call.tell("no messages")
    place = places(call, messages)
    for message in messages:
        call.say(receipts.line(call, {**message, "to": message["to"] + place(message)}))
    return 0


def places(call: Call, messages: list[dict[str, Any]]) -> Callable[[dict[str, Any]], str]:
    """Says of a message which repository it is of, to whoever is in none; else nothing."""
    if not messages or call.json or call.ask("whoami")["repo"] is not None:
        return lambda _: ""
    roots = {repo["id"]: repo["root"] for repo in call.ask("repos")}
    names = [os.path.basename(root) for root in roots.values()]

    def place(message: dict[str, Any]) -> str:
        root = roots.get(message["repo"], message["repo"])
        name = os.path.basename(root)
        return f" in {printable_line(name if names.count(name) < 2 else root)}"

    return place
