"""Puts what an agent or a branch has into the queue, and does not wait: `wl merge --no-wait`.

Inside an agent's workspace it means the agent itself.
"""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call
from windlass.cli.commands import merge

EXAMPLES = ("wl submit", "wl submit my-branch", "wl submit api --needs c3")


def arguments(parser: ArgumentParser) -> None:
    """Takes what `wl merge` takes."""
    merge.arguments(parser)
    parser.set_defaults(no_wait=True)


def run(call: Call) -> int:
    """Proposes it."""
    return merge.run(call)
