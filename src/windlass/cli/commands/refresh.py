"""Rebases agents that are at rest onto the newest proven commit of the branch that changes land on.

Without names, every agent here that has a branch. One that is at work, has uncommitted files, or
would conflict is left as it is, and that is said. Where a branch was before is kept, and named.
Each agent that was rebased is told so. Of agents that were named, exits with 14 where one
conflicts, and with 15 where one is at work, has uncommitted files, or has landed what was taken
back since: rebased, that would be gone.
"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from windlass.cli import render
from windlass.cli.call import Call
from windlass.core.printable import printable_line

EXAMPLES = ("wl refresh", "wl refresh api web", "wl refresh --json")
_CONFLICT, _HELD = 14, 15
_COLOURS = {"rebased": "green", "conflict": "red", "uncommitted": "yellow"}


def arguments(parser: ArgumentParser) -> None:
    """Takes the agents that are meant."""
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="without one, all that can be")


def run(call: Call) -> int:
    """Asks for one after the other, and says what became of each."""
    named: list[str] = call.args.agents
    names = [call.ask("why", agent=name)["id"] for name in named] or _all(call)
    done = [call.ask("refresh", agent=name) for name in dict.fromkeys(names)]
    call.data(done)
    for agent in done:
        _say(call, agent)
    if not done:
        call.tell("there is no agent with a branch of its own here")
    outcomes = {agent["outcome"] for agent in done}
    if "conflict" in outcomes:
        return _CONFLICT
    return _HELD if named and outcomes & {"busy", "uncommitted", "elsewhere", "undone"} else 0


def _all(call: Call) -> list[str]:
    return [agent["id"] for agent in call.ask("agents") if agent["branch"] is not None]


def _say(call: Call, agent: dict[str, Any]) -> None:
    outcome = agent["outcome"]
    shown = call.paint(outcome, _COLOURS[outcome]) if outcome in _COLOURS else outcome
    if outcome == "rebased":
        own = render.counted(agent["commits"], "commit")
        call.tell(f"{agent['id']} {shown}: {own} upon {agent['onto'][:10]}")
        call.tell(f"  before: {agent['was'][:10]}, kept as {printable_line(agent['kept'])}")
    elif outcome == "there":
        call.tell(f"{agent['id']} has {agent['onto'][:10]} already")
    else:
        call.tell(f"{agent['id']} is left as it is: {shown}, {printable_line(agent['why'])}")
        if outcome == "conflict":
            call.tell(f"  wl send {agent['id']} 'merge the target and resolve what conflicts'")
