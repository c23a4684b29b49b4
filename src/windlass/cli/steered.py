"""Doing one thing to each of several agents, and saying what became of them."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

from windlass.cli.call import Call
from windlass.core.errors import NotFound, UserError, WindlassError

STAGGER = 2.0
"""Seconds between two agents of many that begin to work: all at once would come to a limit."""
_RESTS = ("paused", "stopped")

_SAID = {"creating": "goes on: its session is starting"}
"""What is said of a state that is another thing here than where an agent is made."""


def take(parser: ArgumentParser) -> None:
    """Takes the agents that are meant."""
    parser.add_argument("agents", nargs="+", metavar="AGENT")


def take_some_or_all(parser: ArgumentParser) -> None:
    """Takes the agents that are meant, or that all are."""
    parser.add_argument("agents", nargs="*", metavar="AGENT")
    parser.add_argument("--all", action="store_true", help="every agent here")


def each(call: Call, verb: str, **more: Any) -> int:
    """Asks the same verb for each agent, in order, once it is known that all are there."""
    done = [call.ask(verb, agent=name, **more) for name in _present(call)]
    call.data(done)
    for agent in done:
        call.tell(f"{agent['id']} {_SAID.get(agent['state']) or 'is ' + agent['state']}")
    return 0


def some_or_all(call: Call, verb: str, **more: Any) -> int:
    """Does so for those that are named, or for all whom it concerns."""
    if call.args.all and call.args.agents:
        raise UserError("--all names everybody", f"wl {verb} --all, or the agents alone")
    if call.args.all:
        return _all(call, verb, **more)
    if not call.args.agents:
        raise UserError(f"nobody to {verb}", f"name agents, or wl {verb} --all")
    return each(call, verb, **more)


def _all(call: Call, verb: str, **more: Any) -> int:
    """Goes on past those with whom it fails, says why, and exits with the first one's code."""
    listed = call.ask("agents")
    rests = verb == "resume"
    chosen = [agent for agent in listed if (agent["state"] in _RESTS) == rests]
    done: list[dict[str, Any]] = []
    code = 0
    for number, agent in enumerate(chosen):
        if rests and number:
            time.sleep(STAGGER)
        try:
            became = call.ask(verb, agent=agent["id"], **more)
        except WindlassError as error:
            code = code or error.exit_code
            failed = {"kind": error.kind, "message": error.message, "hint": error.hint}
            became = {"id": agent["id"], "uid": agent["uid"], "error": failed}
        done.append(became)
        if "error" in became:
            call.say(f"{agent['id']}: {became['error']['message']}; {became['error']['hint']}")
        else:
            call.tell(f"{became['id']} is {became['state']}")
    call.data(done)
    if not chosen:
        call.tell(f"there was nobody to {verb}")
    return code


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
