"""Starts an agent whose work lands by itself when it is done: `wl new --land`."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call
from windlass.cli.commands import new

EXAMPLES = ('wl work "mend the failing date test"',)


def arguments(parser: ArgumentParser) -> None:
    """Takes what `wl new` takes."""
    new.arguments(parser)
    parser.set_defaults(land=True)


def run(call: Call) -> int:
    """Starts it."""
    return new.run(call)
