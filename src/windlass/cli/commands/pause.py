"""Stops the sessions of agents and keeps everything; `wl resume` goes on."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli import steered
from windlass.cli.call import Call

EXAMPLES = ("wl pause api", "wl pause --all")


def arguments(parser: ArgumentParser) -> None:
    """Takes agents, or all."""
    steered.take_some_or_all(parser)


def run(call: Call) -> int:
    """Pauses each agent."""
    return steered.some_or_all(call, "pause")
