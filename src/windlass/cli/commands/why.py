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
    """Prints how the state of an agent, or of a message, is known."""
    if (call.args.agent or "").startswith(MESSAGE):
        return _message(call)
    why = call.ask("why", agent=call.args.agent, history=call.args.history)
    call.data(why)
    if call.json:
        return 0
    if call.args.history:
        return _history(call, why["history"])
    call.say(f"{call.paint(why['id'], 'bold')} is {call.paint(why['state'], 'bold')}")
    if why["ended_by"]:
        call.say(f"  ended by {why['ended_by']}")
    if why["winner"] is None:
        call.say("  nobody has said anything about it yet")
    else:
        call.say(f"  because  {_line(why['winner'])}")
    for loser in why["losers"]:
        call.say(call.paint(f"  not      {_line(loser)}", "dim"))
    if "stuck" in why:
        call.say(f"  not home {printable_line(why['stuck'])}")
    for report in why["refused"]:
        call.say(f"  refused  {printable_line(report)}")
    return 0


def _message(call: Call) -> int:
    message = call.ask("message", message=call.args.agent)
    call.data(message)
    said = receipts.receipt(message)
    call.say(
        f"{call.paint(message['id'], 'bold')}, {message['from']} to {message['to']}, is {said}"
    )
    if message["note"]:
        call.say(f"  because  {printable_line(message['note'])}")
    now = time.time()
    call.say(call.paint("AGO   WHAT HAPPENED", "dim"))
    for event in message["history"]:
        # Whole, however long: who asks why wants the reason to its end.
        call.say(f"{age(now - event['at']):<4}  {_step(event, message)}")
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
        (
            age(now - change["at"]),
            change["state"],
            change["source"],
            printable_line(change["evidence"]),
        )
        for change in history
    ]
    render.table(call, ("AGO", "STATE", "SOURCE", "EVIDENCE"), lines, grow=3, spare=())
    return 0


def _line(seen: dict[str, Any]) -> str:
    return (
        f"{seen['source']} said {seen['value']} {age(seen['age'])} ago: "
        f"{printable_line(seen['evidence'])} (session {seen['session']})"
    )
