"""Says how an agent's state is known: what decided it, what else was said, how old each word is."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from windlass.cli.call import Call
from windlass.core.ages import age
from windlass.core.printable import printable_line

EXAMPLES = ("wl why api", "wl why api --json")


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent."""
    parser.add_argument("agent", nargs="?")


def run(call: Call) -> int:
    """Prints it."""
    found = call.ask("why", agent=call.args.agent)
    call.data(found)
    if call.json:
        return 0
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


def _line(seen: dict[str, Any]) -> str:
    return (
        f"{seen['source']} said {seen['value']} {age(seen['age'])} ago: "
        f"{printable_line(seen['evidence'])} (session {seen['session']})"
    )
