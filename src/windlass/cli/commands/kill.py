"""Ends agents without merging. Their work goes to the trash; `wl undo` brings it back."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import ended
from windlass.cli.call import Call, take_yes

EXAMPLES = ("wl kill api", "wl kill api ui --force")


def arguments(parser: ArgumentParser) -> None:
    """Takes agents."""
    parser.add_argument("agents", nargs="+", metavar="AGENT")
    take_yes(parser)


def run(call: Call) -> int:
    """Asks, then ends them."""
    agents = call.args.agents
    if not call.sure:
        agents = call.to_be_ended(agents)
        whose = "its" if len(agents) == 1 else "their"
        call.confirm(f"end {', '.join(agents)}? {whose} work is kept in the trash")
    known = ended.proposed(call)
    done = call.ask("end", agents=agents, force=call.args.force)
    call.data(done)
    code = ended.tell(call, done)
    ended.tell_changes(call, done, known)
    return code
