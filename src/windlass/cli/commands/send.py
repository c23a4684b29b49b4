"""Says something to an agent, exactly as given; the text may come on stdin."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call, piped
from windlass.core.errors import UserError

EXAMPLES = ("wl send api 'please add a test'", "git diff | wl send api")


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent and a text."""
    parser.add_argument("agent")
    parser.add_argument("text", nargs="*", help="what to say (or on stdin)")


def run(call: Call) -> int:
    """Sends it."""
    text = " ".join(call.args.text)
    if not text:
        text = piped()
    if not text:
        raise UserError("nothing to send", f"wl send {call.args.agent} 'text'")
    done = call.ask("send", agent=call.args.agent, text=text)
    call.data(done)
    call.tell(f"sent to {done['agent']}")
    return 0
