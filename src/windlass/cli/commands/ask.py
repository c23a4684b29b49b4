"""Asks the person, or this agent's manager, a question; blocks nothing.

Only agents ask. A root agent's question goes to the person, another's to its parent; the answer
comes as a message.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call, worded
from windlass.core.errors import UserError

EXAMPLES = ('wl ask "shall the old flag keep working?"',)


def arguments(parser: ArgumentParser) -> None:
    """Takes a question."""
    parser.add_argument("text", nargs="*", help="what to ask (or on stdin, also with -)")


def run(call: Call) -> int:
    """Asks it."""
    text = worded(call.args.text)
    if not text.strip():
        raise UserError("nothing to ask", 'wl ask "what do you want to know?"')
    done = call.ask("ask", text=text)
    call.data(done)
    who = "the person" if done["to"] == "user" else done["to"]
    deaf = f" (it is {done['state']} now)" if done["state"] in ("paused", "stopped") else ""
    call.tell(f"asked {who}{deaf}; the answer comes as a message")
    return 0
