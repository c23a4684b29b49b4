"""Lists the messages to you, or to an agent, that are not dealt with, and what became of each.

Inside an agent: its own. A terminal shows what fits on a line; `wl message show` shows the whole.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import receipts
from windlass.cli.call import Call

EXAMPLES = ("wl inbox", "wl inbox api --all", "wl inbox api --sent")


def arguments(parser: ArgumentParser) -> None:
    """Takes whose, and which."""
    parser.add_argument("agent", nargs="?", help="whose; yours without")
    parser.add_argument("--all", action="store_true", help="also what is dealt with or failed")
    parser.add_argument("--sent", action="store_true", help="what it sent, not what it got")
    parser.add_argument("--last", type=int, metavar="N", help="only the newest so many (200)")


def run(call: Call) -> int:
    """Prints them."""
    args = call.args
    asked = {"agent": args.agent} if args.agent else {}
    found = call.ask("inbox", **asked, all=args.all, sent=args.sent, last=args.last)
    call.data(found)
    if not found:
        call.tell("no messages")
    for one in found:
        call.say(receipts.line(call, one))
    return 0
