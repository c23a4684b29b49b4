"""Goes on with paused or stopped agents, in the conversation that they had."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call

EXAMPLES = ("wl resume api",)


def arguments(parser: ArgumentParser) -> None:
    """Takes agents."""
    parser.add_argument("agents", nargs="+", metavar="AGENT")


def run(call: Call) -> int:
    """Does it to each."""
    done = [call.ask("resume", agent=name) for name in call.args.agents]
    call.data(done)
    for agent in done:
        call.tell(f"{agent['id']} is {agent['state']}")
    return 0
