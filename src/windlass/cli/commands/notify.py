"""Tells the person's own agent that something happened; it is woken if it listens, or told later.

The text may come on stdin. An agent is its own sender.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call, worded
from windlass.core.errors import UserError

EXAMPLES = (
    'wl notify "the nightly build is green"',
    'wl notify --type question --from ci "deploy now?"',
    "tail -3 build.log | wl notify --type waiting",
)
_TYPES = ("complete", "waiting", "question")


def arguments(parser: ArgumentParser) -> None:
    """Takes a text, its kind and its sender."""
    parser.add_argument("text", nargs="*", help="what happened (or on stdin, also with -)")
    parser.add_argument("--type", choices=_TYPES, default="complete", help="(complete)")
    parser.add_argument(
        "--from", dest="sender", metavar="ID",
        help="who says it (user); an agent cannot speak for others",
    )  # fmt: skip


def run(call: Call) -> int:
    """Posts the notice."""
    text = worded(call.args.text)
    if not text.strip():
        raise UserError("nothing to say", 'wl notify "what happened", or the text on stdin')
    done = call.ask("notify", text=text, type=call.args.type, sender=call.args.sender)
    call.data(done)
    call.tell(f"notice {done['number']} is posted")
    return 0
