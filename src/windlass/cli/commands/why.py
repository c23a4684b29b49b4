"""Says how an agent's state is known: what decided it, what else was said, how old each word is."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from windlass.cli import render
from windlass.cli.call import Call
from windlass.core.ages import age
from windlass.core.printable import printable_line

EXAMPLES = ("wl why api", "wl why api --history", "wl why api --history --json")


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent."""
    parser.add_argument("agent", nargs="?")
    parser.add_argument("--history", action="store_true", help="every state so far, oldest first")


def run(call: Call) -> int:
    """Prints it."""
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
