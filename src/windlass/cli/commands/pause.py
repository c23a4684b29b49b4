"""Stops the sessions of agents and keeps everything; `wl resume` goes on.

`wl pause run` has no more tasks of the board begun; what is at work goes on to its end.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import run_asked, steered
from windlass.cli.call import Call

EXAMPLES = ("wl pause api", "wl pause --all", "wl pause run")


def arguments(parser: ArgumentParser) -> None:
    """Takes agents, or all."""
    steered.take_some_or_all(parser)


def run(call: Call) -> int:
    """Pauses each agent, or the work on the board."""
    if call.args.agents == [run_asked.BOARD]:
        return run_asked.pause(call, paused=True)
    return steered.some_or_all(call, "pause")
