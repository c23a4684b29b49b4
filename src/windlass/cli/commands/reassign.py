"""Gives an agent another manager, or none."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call
from windlass.core.errors import UserError

EXAMPLES = ("wl reassign api lead", "wl reassign api --none")


def arguments(parser: ArgumentParser) -> None:
    """Takes an agent and its new manager."""
    parser.add_argument("agent")
    parser.add_argument("manager", nargs="?")
    parser.add_argument("--none", action="store_true", help="no manager: the person's own")


def run(call: Call) -> int:
    """Gives the agent its new manager."""
    if bool(call.args.manager) == call.args.none:
        raise UserError("name a manager or say --none", "wl reassign AGENT MANAGER")
    done = call.ask("reassign", agent=call.args.agent, parent=call.args.manager or "")
    call.data(done)
    call.tell(f"{done['id']} is under {done['parent'] or 'nobody'} now")
    return 0
