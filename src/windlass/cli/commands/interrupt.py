"""Stops the present turn of agents, as Escape would; their sessions go on and can be told more."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call

EXAMPLES = ("wl interrupt api", "wl interrupt api && wl send api 'do the tests first'")


def arguments(parser: ArgumentParser) -> None:
    """Takes agents."""
    parser.add_argument("agents", nargs="+", metavar="AGENT")


def run(call: Call) -> int:
    """Does it to each."""
    done = [call.ask("interrupt", agent=name) for name in call.args.agents]
    call.data(done)
    for agent in done:
        call.tell(f"{agent['id']} is {agent['state']}")
    return 0
