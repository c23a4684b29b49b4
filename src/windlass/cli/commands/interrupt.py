"""Stops the present turn of agents, as Escape would; their sessions go on and can be told more."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import steered
from windlass.cli.call import Call

EXAMPLES = ("wl interrupt api", "wl interrupt api && wl send api 'do the tests first'")


def arguments(parser: ArgumentParser) -> None:
    """Takes agents."""
    steered.take(parser)


def run(call: Call) -> int:
    """Stops the turn of each agent."""
    return steered.each(call, "interrupt")
