"""Tells the person's own agent that something happened; it is woken if it listens, or told later.

The text may come on stdin. An agent is its own sender. `wl notify setup` has notices reach your
phone, chat or desktop: ntfy and slack with an address, desktop, or command with a shell line. It
sends a test message, and writes `notify.command` of your own configuration if that went well.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call, worded
from windlass.core.errors import UserError

EXAMPLES = (
    'wl notify "the nightly build is green"',
    'wl notify --type question --from ci "deploy now?"',
    "tail -3 build.log | wl notify --type waiting",
    "wl notify setup ntfy https://ntfy.example/my-topic",
    "wl notify setup desktop",
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
    if call.args.text[:1] == ["setup"]:
        from windlass.cli import notify_setup  # noqa: PLC0415 - seldom needed

        return notify_setup.run(call, call.args.text[1:])
    text = worded(call.args.text)
    if not text.strip():
        raise UserError("nothing to say", 'wl notify "what happened", or the text on stdin')
    done = call.ask("notify", text=text, type=call.args.type, sender=call.args.sender)
    call.data(done)
    call.tell(f"notice {done['number']} is posted")
    return 0
