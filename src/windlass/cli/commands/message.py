"""Shows a message with all its receipts and what it belongs to, or says that it is dealt with."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from windlass.cli import receipts
from windlass.cli.call import Call
from windlass.core.printable import printable, printable_line

OPEN = ("queued", "delivered", "read")
"""The receipts of what is not dealt with: those of `core.mail`, which would bring msgspec along."""
EXAMPLES = ("wl message show msg-5f0c", "wl message ack msg-5f0c")
_TIMES = (
    ("created_at", "sent"),
    ("delivered_at", "delivered"),
    ("read_at", "read"),
    ("acked_at", "acked"),
    ("ended_at", "given up"),
    ("expires_at", "expires"),
)


def arguments(parser: ArgumentParser) -> None:
    """Takes what to do with which message."""
    verbs = parser.add_subparsers(dest="verb", metavar="show|ack", required=True)
    shown = verbs.add_parser("show", help="show a message, its receipts and its thread")
    shown.add_argument("message", metavar="ID")
    acked = verbs.add_parser("ack", help="say that messages are dealt with")
    acked.add_argument("messages", nargs="+", metavar="ID")


def run(call: Call) -> int:
    """Runs the verb that was given."""
    return _show(call) if call.args.verb == "show" else acknowledge(call, call.args.messages)


def _show(call: Call) -> int:
    message = call.ask("message", message=call.args.message)
    call.data(message)
    if call.json:
        return 0
    call.say(f"{message['id']}  {message['from']} to {message['to']}  {receipts.receipt(message)}")
    urgent = ", urgent" if message["urgent"] else ""
    call.say(f"  {'kind':<10} {message['kind']}{urgent}")
    if message["note"]:
        call.say(f"  {'because':<10} {printable_line(message['note'])}")
    for name, word in _TIMES:
        if message[name] is not None:
            call.say(f"  {word:<10} {_clock(message[name])}{_way(message, word)}")
    if message["reply_to"]:
        call.say(f"  {'answers':<10} {message['reply_to']}")
    call.say()
    call.say(printable(message["text"]))
    if message["thread"]:
        call.say("\nthread")
        for other in message["thread"]:
            call.say(receipts.line(call, other))
    return 0


def _clock(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def _way(message: dict[str, Any], word: str) -> str:
    """The way that a message came, or who dealt with it."""
    if word == "delivered":
        return f" by {message['route']}" if message["route"] else ""
    steps = [step["why"] for step in message["history"] if step["what"] == word == "acked"]
    return f" by {printable_line(steps[-1])}" if steps and steps[-1] else ""


def acknowledge(call: Call, messages: list[str], *, everything: bool = False) -> int:
    """Says that messages are dealt with."""
    done = call.ask("ack", messages=messages, all=everything)
    call.data(done)
    acked = done["acked"]
    call.tell(f"acknowledged {', '.join(acked)}" if acked else "nothing to acknowledge")
    return 0
