"""Sets up this repository: makes it known, and writes .windlass/config.toml to start from."""

from __future__ import annotations

from argparse import ArgumentParser

from windlass.cli.call import Call

EXAMPLES = ("wl init",)


def arguments(parser: ArgumentParser) -> None:
    """Takes none."""
    del parser


def run(call: Call) -> int:
    """Does it."""
    done = call.ask("init")
    call.data(done)
    call.tell(f"{done['root']} is known as {done['id']}")
    word = "written; commit it when it says what you want" if done["made"] else "kept as it is"
    call.tell(f"  {done['config']} {word}")
    call.tell('  wl new "what to do" starts an agent')
    return 0
