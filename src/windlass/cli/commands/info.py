"""Shows everything about an agent."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call
from windlass.core.ages import age
from windlass.core.printable import printable, printable_line

EXAMPLES = ("wl info api", "wl info api --json")

_SHOWN = (
    "role", "parent", "children", "driver", "model", "mode", "isolation", "network", "branch",
    "base", "base_from", "workspace", "folder", "transcript", "tmux", "slot", "port_base", "script",
    "conversation", "ended_by",
)  # fmt: skip


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent."""
    parser.add_argument("agent", nargs="?")


def run(call: Call) -> int:
    """Prints it."""
    found = call.ask("info", agent=call.args.agent)
    call.data(found)
    if call.json:
        return 0
    call.say(f"{call.paint(found['id'], 'bold')}  {found['state']} {age(found['state_age'])}")
    for name in _SHOWN:
        if found[name] not in (None, ""):
            call.say(f"  {name:<13} {printable_line(str(found[name]))}")
    policy = found["policy"]
    call.say(f"  {'policy':<13} {'yolo' if policy['yolo'] else 'as its role'}")
    for kind in ("allow", "deny"):
        for pattern in policy[kind]:
            call.say(f"  {kind:<13} {printable_line(pattern)}")
    for session in found["sessions"]:
        code = session["exit_code"]
        ending = (
            "lives"
            if session["ended_at"] is None
            else ("ended without a trace" if code is None else f"ended with {code}")
        )
        call.say(f"  session {session['number']:<5} {ending}")
    call.say(f"  {'goal':<13} {printable(found['goal'])}")
    return 0
