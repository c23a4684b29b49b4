"""Shows what an agent was not allowed, newest last, with who said no and why.

--hook takes only what one hook denied. --allow N allows the Nth to this agent from now on, as `wl
allow` does. --suggest prints the command that would allow each to agents started from then on; read
it before you run it.
"""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser
from typing import Any

from windlass.cli import render
from windlass.cli.call import Call
from windlass.cli.commands import allow
from windlass.core.errors import UserError
from windlass.core.printable import printable_line

EXAMPLES = ("wl denials api", "wl denials api --hook PreToolUse --json", "wl denials api --allow 3")


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent."""
    parser.add_argument("agent", nargs="?", help="whose; an agent that calls this means itself")
    parser.add_argument(
        "--hook", choices=("PreToolUse", "PermissionRequest"), help="denied by this hook only"
    )
    parser.add_argument("--allow", type=int, metavar="N", help="allow the Nth to this agent")
    parser.add_argument("--suggest", action="store_true", help="print what would allow each")


def run(call: Call) -> int:
    """Prints what the agent was denied, and what would allow it."""
    denials = call.ask("denials", agent=call.args.agent, hook=call.args.hook)
    if call.args.suggest:
        return _suggest(call, denials)
    if call.args.allow is not None:
        return _allow(call, denials)
    call.data(denials)
    if not denials:
        call.tell("nothing was denied")
    for number, denial in enumerate(denials, 1):
        when = time.strftime("%H:%M:%S", time.localtime(denial["at"]))
        tool = printable_line(str(denial["tool"] or "?"))
        said = f"{call.paint(when, 'dim')} {call.paint(tool, 'bold')}  {_input(call, denial)}"
        call.say(f"{number:>3} {said}")
        why = f"{denial['hook']}, {denial['by']}: {denial['reason']}"
        call.say(f"             {printable_line(why)}")
    return 0


def _allow(call: Call, denials: list[dict[str, Any]]) -> int:
    number = call.args.allow
    if not 1 <= number <= len(denials):
        raise UserError(f"there is no denial {number}", "`wl denials AGENT` numbers them")
    patterns = denials[number - 1]["allow"]
    if not patterns:
        raise UserError(
            "no pattern would allow that one",
            "`wl dev explain tool` says what decides about a call",
        )
    return allow.lift(call, call.args.agent, patterns)


def _suggest(call: Call, denials: list[dict[str, Any]]) -> int:
    lines = list(dict.fromkeys(line for denial in denials for line in denial["suggest"]))
    call.data(lines)
    if not lines:
        call.tell("nothing was denied that an allow list could change")
    for line in lines:
        call.say(printable_line(line))
    return 0


def _input(call: Call, denial: dict[str, Any]) -> str:
    arguments = denial["input"]
    if isinstance(arguments, dict) and isinstance(arguments.get("command"), str):
        line = printable_line(arguments["command"])
    else:
        line = printable_line(json.dumps(arguments, ensure_ascii=False))
    return render.fit(line, max(40, render.columns() - 24)) if call.terminal else line
