"""Doing one thing to each of several agents, and saying what became of them."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from windlass.cli.call import Call


def take(parser: ArgumentParser) -> None:
    """Takes the agents that are meant."""
    parser.add_argument("agents", nargs="+", metavar="AGENT")


def each(call: Call, verb: str, **more: Any) -> int:
    """Asks the same verb for each agent, in order."""
    done = [call.ask(verb, agent=name, **more) for name in call.args.agents]
    call.data(done)
    for agent in done:
        call.tell(f"{agent['id']} is {agent['state']}")
    return 0
