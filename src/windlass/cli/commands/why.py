"""Says how an agent's state is known: what decided it, what else was said, how old each word is.

Of a message (`msg-…`): what became of it so far, step by step, and why it is not further.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from windlass.cli import receipts, render
from windlass.cli.call import Call
from windlass.core.ages import age
from windlass.core.ids import MESSAGE
from windlass.core.printable import printable_line

EXAMPLES = ("wl why api", "wl why api --history --json", "wl why msg-5f0c")


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent or a message."""
    parser.add_argument("agent", nargs="?", metavar="SUBJECT", help="an agent or a message")
    parser.add_argument("--history", action="store_true", help="every state so far, oldest first")


def run(call: Call) -> int:
    """Prints it."""
    if (call.args.agent or "").startswith(MESSAGE):
        return _message(call)
    found = call.ask("why", agent=call.args.agent, history=call.args.history)
    call.data(found)
    if call.json:
        return 0
    if call.args.history:
        return _history(call, found["history"])
    call.say(f"{call.paint(found['id'], 'bold')} is {call.paint(found['state'], 'bold')}")
    if found["ended_by"]:
        call.say(f"  ended by {found['ended_by']}")
    if found["winner"] is None:
        call.say("  nobody has said anything about it yet")
    else:
        call.say(f"  because  {_line(found['winner'])}")
    for loser in found["losers"]:
        call.say(call.paint(f"  not      {_line(loser)}", "dim"))
    return 0


def _message(call: Call) -> int:
    found = call.ask("message", message=call.args.agent)
    call.data(found)
    said = receipts.receipt(found)
    call.say(f"{call.paint(found['id'], 'bold')}, {found['from']} to {found['to']}, is {said}")
    if found["note"]:
        call.say(f"  because  {printable_line(found['note'])}")
    now = time.time()
    call.say(call.paint("AGO   WHAT HAPPENED", "dim"))
    for one in found["history"]:
        # Whole, however long: who asks why wants the reason to its end.
        call.say(f"{age(now - one['at']):<4}  {_step(one, found)}")
    return 0


def _step(step: dict[str, Any], message: dict[str, Any]) -> str:
    """One thing that happened to a message, in words."""
    what, why = step["what"], printable_line(step["why"])
    match what:
        case "sent":
            return f"sent by {message['from']} to {message['to']}"
        case "received":
            return f"delivered by {why}" if why else "delivered"
        case "acked":
            return f"acknowledged by {why}" if why else "acknowledged"
        case "requeued":
            return f"did not arrive, and waits again: {why}"
    return f"{what}: {why}" if why else str(what)


def _history(call: Call, history: list[dict[str, Any]]) -> int:
    now = time.time()
    lines = [
        (age(now - one["at"]), one["state"], one["source"], printable_line(one["evidence"]))
        for one in history
    ]
    render.table(call, ("AGO", "STATE", "SOURCE", "EVIDENCE"), lines, grow=3, spare=())
    return 0


def _line(seen: dict[str, Any]) -> str:
    return (
        f"{seen['source']} said {seen['value']} {age(seen['age'])} ago: "
        f"{printable_line(seen['evidence'])} (session {seen['session']})"
    )
