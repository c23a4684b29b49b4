"""Asks the person, or this agent's manager, a question; blocks nothing.

Only agents ask. A root agent's question goes to the person, another's to its parent; the answer
comes as a message.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call, piped
from windlass.core.errors import UserError

EXAMPLES = ('wl ask "shall the old flag keep working?"',)


def arguments(parser: ArgumentParser) -> None:
    """Takes a question."""
    parser.add_argument("text", nargs="*", help="what to ask (or on stdin)")


def run(call: Call) -> int:
    """Asks it."""
    text = " ".join(call.args.text) or piped()
    if not text.strip():
        raise UserError("nothing to ask", 'wl ask "what do you want to know?"')
    done = call.ask("ask", text=text)
    call.data(done)
    who = "the person" if done["to"] == "user" else done["to"]
    call.tell(f"asked {who}; the answer comes as a message")
    return 0
