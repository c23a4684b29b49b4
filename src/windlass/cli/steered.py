"""Doing one thing to each of several agents, and saying what became of them."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from windlass.cli.call import Call
from windlass.core.errors import NotFound

_SAID = {"creating": "goes on: its session is starting"}
"""What is said of a state that is another thing here than where an agent is made."""


def take(parser: ArgumentParser) -> None:
    """Takes the agents that are meant."""
    parser.add_argument("agents", nargs="+", metavar="AGENT")


def each(call: Call, verb: str, **more: Any) -> int:
    """Asks the same verb for each agent, in order, once it is known that all are there."""
    done = [call.ask(verb, agent=name, **more) for name in _present(call)]
    call.data(done)
    for agent in done:
        call.tell(f"{agent['id']} {_SAID.get(agent['state']) or 'is ' + agent['state']}")
    return 0


def _present(call: Call) -> list[str]:
    """The agents that are meant, each once; one alone is found by what is asked of it."""
    names: list[str] = call.args.agents
    if len(names) == 1:
        return names
    agents = [call.ask("info", agent=name) for name in names]
    for agent in agents:
        if agent["ended_at"] is not None:
            raise NotFound(f"{agent['id']} has ended", "`wl list` shows who is there")
    return list(dict.fromkeys(agent["id"] for agent in agents))
