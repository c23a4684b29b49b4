"""Prints the version."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass import __version__
from windlass.cli.call import Call


def arguments(parser: ArgumentParser) -> None:
    """Takes none."""
    del parser


def run(call: Call) -> int:
    """Prints it."""
    call.data({"version": __version__})
    call.say(f"windlass {__version__}")
    return 0
