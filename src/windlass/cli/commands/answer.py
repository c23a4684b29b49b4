"""Answers a question of an agent: the text arrives as a message, and the question is settled.

QUESTION is its id, or the agent that asks if it asks one thing only.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import receipts
from windlass.cli.call import Call, worded
from windlass.core.errors import UserError

EXAMPLES = ("wl answer msg-5f0c 'yes, keep it'", "wl answer gull 'the second one'")


def arguments(parser: ArgumentParser) -> None:
    """Takes a question and an answer."""
    parser.add_argument("question", metavar="QUESTION", help="its id, or who asks")
    parser.add_argument("text", nargs="*", help="the answer (or on stdin, also with -)")
    parser.add_argument("--wake", action="store_true", help="go on with the agent if it is stopped")


def run(call: Call) -> int:
    """Sends the answer."""
    args = call.args
    text = worded(args.text)
    if not text.strip():
        raise UserError("nothing to answer", f"wl answer {args.question} 'text'")
    done = call.ask("answer", question=args.question, text=text, wake=args.wake)
    call.data(done["messages"])
    for message in done["messages"]:
        note = f"; {message['note']}" if message["note"] else ""
        call.tell(f"answered {message['to']}: {message['id']} is {receipts.receipt(message)}{note}")
    return 0
